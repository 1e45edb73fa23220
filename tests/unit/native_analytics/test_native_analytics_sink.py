"""Tests how the loader writes a batch if the store rejects the first attempt."""

from __future__ import annotations

import threading

import pyarrow as pa

from sparkfuse_native_analytics.loader.batch import Batch
from sparkfuse_native_analytics.loader.sink import Sink


class _RejectsFirst:
    """A store that rejects the first insert and accepts the others."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def insert_arrow(self, name: str, table: pa.Table, settings: object) -> None:
        self.tables.append(table)
        if len(self.tables) == 1:
            raise OSError("no answer")


def test_retry_has_the_arrival_of_the_first_attempt() -> None:
    """All attempts have one time of arrival, so a retry after midnight is in the partition that knows its token."""
    store = _RejectsFirst()
    sink = Sink(store, threading.Event(), lambda table: None)
    sink.store(Batch((("live", pa.table({"row_seq": [1, 2]})),), (), "topic/0/0-1"))

    first, second = store.tables
    assert first == second
    assert len(first["inserted_at"].unique()) == 1
