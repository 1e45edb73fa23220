"""Tests that a history is returned only after its training samples were added to the baselines."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException

from sparkfuse_native_analytics.history.reader import HistoryReader
from sparkfuse_native_analytics.history.workers import HistoryResult
from tests.waiting import wait_for


class InstantWorkers:
    """Workers that return each result immediately; the training sample of a log is the log's name."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.closed = False

    def request(self, name: str, path: str) -> None:
        del path
        self.waiting.append(name)

    @property
    def pending(self) -> int:
        return len(self.waiting)

    def results(self) -> list[HistoryResult]:
        results = [HistoryResult(name, "app", (b"row",), (name.encode(),)) for name in self.waiting]
        self.waiting = []
        return results

    def close(self) -> None:
        self.closed = True


def test_rows_wait_until_baselines_are_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the broker rejects baselines, no history is returned; afterwards each history is returned once."""
    monkeypatch.setattr("sparkfuse_native_analytics.history.reader.RETRY_SECONDS", 0.01)
    broker_answers, calls = threading.Event(), []

    def update(samples: Sequence[bytes]) -> int:
        calls.append(len(samples))
        if not broker_answers.is_set():
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return len(samples)

    workers = InstantWorkers()
    reader = HistoryReader(workers, update, threading.Event())  # type: ignore[arg-type]  # without processes
    try:
        reader.request("one", "/one")
        assert list(reader.results()) == []
        wait_for(lambda: len(calls) > 2, 20, "some calls")
        assert list(reader.results()) == []
        assert reader.pending == 1
        broker_answers.set()
        found = wait_for(lambda: list(reader.results()), 20, "the history")
    finally:
        reader.close()

    assert [replace(result, samples=()) for result in found] == [HistoryResult("one", "app", (b"row",))]
    assert (reader.pending, reader.updated_stages, workers.closed) == (0, 1, True)


def test_failed_update_does_not_block_rows(caplog: pytest.LogCaptureFixture) -> None:
    """If an update of the baselines fails permanently, the reason is logged, and the rows are returned anyway."""

    def update(samples: Sequence[bytes]) -> int:
        if samples[0] == b"bad":
            raise OSError("no space left on device")
        return len(samples)

    workers = InstantWorkers()
    reader = HistoryReader(workers, update, threading.Event())  # type: ignore[arg-type]  # without processes
    found: list[HistoryResult] = []
    try:
        for name in ("bad", "good"):
            reader.request(name, name)
            found += wait_for(lambda: list(reader.results()), 20, "the history")
    finally:
        reader.close()

    assert [(result.name, result.rows, result.baselines_updated) for result in found] == [
        ("bad", (b"row",), False),
        ("good", (b"row",), True),
    ]
    assert (reader.pending, reader.updated_stages) == (0, 1)
    assert "the baselines were not updated from 1 logs" in caplog.text
    assert "no space left on device" in caplog.text
