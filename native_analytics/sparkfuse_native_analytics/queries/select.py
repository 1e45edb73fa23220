"""Reads rows of the store as instances of dataclasses: the fields of the class are the selected columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from sparkfuse_native_analytics.store.client import StoreUnavailableError, cause

Row = TypeVar("Row")
_UNKNOWN_TABLE = "code: 60"


class StoreEmptyError(RuntimeError):
    """The store has no tables yet, because no loader has run on it."""


def names(row_class: type[Any], prefix: str = "") -> str:
    """Return the fields of a dataclass as a list of columns."""
    return ", ".join(f"{prefix}{field.name}" for field in dataclasses.fields(row_class))


def select(client: Client, row_class: type[Row], sql: str, parameters: Mapping[str, object]) -> list[Row]:
    """Return the rows of a SQL statement as instances of ``row_class``, whose fields must be the statement's columns.

    The server binds parameters (``{name:Type}``), so values are never written into the SQL.
    Raises StoreEmptyError, and StoreUnavailableError if the store does not answer.
    """
    return [row_class(**row) for row in fetch(client, sql, parameters)]


def fetch(client: Client, sql: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the rows of a SQL statement as dicts.

    Raises StoreEmptyError, and StoreUnavailableError if the store does not answer.
    """
    try:
        return list(client.query(sql, parameters=dict(parameters)).named_results())
    except OperationalError as error:
        raise StoreUnavailableError(f"ClickHouse no longer answers: {cause(error)}") from error
    except DatabaseError as error:
        if _UNKNOWN_TABLE in str(error):
            raise StoreEmptyError("the store has no tables yet: start the loader, or run the migration") from error
        raise
