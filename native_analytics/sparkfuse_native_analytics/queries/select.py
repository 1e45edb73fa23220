"""Reads rows of the store as instances of dataclasses: the fields of the class are the selected columns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from sparkfuse_native_analytics.store.client import StoreUnavailableError, cause

Row = TypeVar("Row")
_HOUR_MS = 3_600_000
# Most pages are full after the runs of a few hours, and each period is eight times as long as the one before.
_PERIODS_MS = (6 * _HOUR_MS, 48 * _HOUR_MS, 384 * _HOUR_MS, 3072 * _HOUR_MS)
_UNKNOWN_TABLE = "code: 60"


class StoreEmptyError(RuntimeError):
    """The store has no tables yet, because no loader has run on it."""


def names(row_class: type[Any], prefix: str = "") -> str:
    """Return the fields of a dataclass as a list of columns."""
    return ", ".join(f"{prefix}{field.name}" for field in dataclasses.fields(row_class))


def newest_first(since_ms: int, newest_ms: int | None) -> Iterator[int]:
    """Yield the starts of longer and longer periods before ``newest_ms`` (default: now), the last one ``since_ms``.

    A list that starts with the newest rows reads a short period first, and a longer one only if it is not full.
    """
    newest_ms = time.time_ns() // 1_000_000 if newest_ms is None else newest_ms
    yield from (start for period in _PERIODS_MS if (start := newest_ms - period) > since_ms)
    yield since_ms


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
