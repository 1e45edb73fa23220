"""Rows of the store as dataclasses: the fields of the class are the columns that are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

Row = TypeVar("Row")
_UNKNOWN_TABLE = "code: 60"


class StoreEmptyError(RuntimeError):
    """The store has no tables yet: no loader has ever run on it."""


def names(row_class: type[Any], prefix: str = "") -> str:
    """The fields of a dataclass as a list of columns."""
    return ", ".join(f"{prefix}{field.name}" for field in dataclasses.fields(row_class))


def select(client: Client, row_class: type[Row], sql: str, parameters: Mapping[str, object]) -> list[Row]:
    """The rows of a query whose columns are named as the fields of ``row_class``.

    Parameters are bound by the server (``{name:Type}``), never written into the text. Raises StoreEmptyError.
    """
    return [row_class(**row) for row in fetch(client, sql, parameters)]


def fetch(client: Client, sql: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    """The rows of a query as dicts.

    Raises StoreEmptyError.
    """
    try:
        return list(client.query(sql, parameters=dict(parameters)).named_results())
    except DatabaseError as error:
        if _UNKNOWN_TABLE in str(error):
            raise StoreEmptyError(
                "the store has no tables yet: start the loader, or run the store's migrate"
            ) from error
        raise
