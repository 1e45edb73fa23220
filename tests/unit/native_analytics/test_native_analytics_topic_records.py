"""Tests that a writer of records keeps one producer, and opens a new one after a failure."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from confluent_kafka import Producer

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics import topic_records
from sparkfuse_native_analytics.topic_records import TopicError, TopicWriter

AWAY = Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"})
ANSWER_SECONDS = 0.5
THREADS = 4


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Producer]:
    """Return the list to which each new producer is added."""
    producers: list[Producer] = []

    def open_producer(configuration: dict[str, Any]) -> Producer:
        producers.append(Producer(configuration))
        return producers[-1]

    monkeypatch.setattr(topic_records, "Producer", open_producer)
    return producers


def refused(writer: TopicWriter) -> str:
    with pytest.raises(TopicError) as raised:
        writer.append("feedback", "key", b"{}")
    return str(raised.value)


def test_threads_share_one_producer(opened: list[Producer]) -> None:
    """Records that wait for a broker at the same time wait in one producer, and each of them gets its error."""
    writer, together = TopicWriter(AWAY, 2 * ANSWER_SECONDS), Barrier(THREADS, timeout=60)

    def act(_: int) -> str:
        together.wait()
        return refused(writer)

    with ThreadPoolExecutor(THREADS) as threads:
        reasons = list(threads.map(act, range(THREADS)))

    assert len(opened) == 1
    assert all("did not store the record in feedback" in reason for reason in reasons)


def test_failure_opens_a_new_producer(opened: list[Producer]) -> None:
    """The record after a failure gets a new producer, which reads a renewed password."""
    writer = TopicWriter(AWAY, ANSWER_SECONDS)
    for _ in range(2):
        refused(writer)

    assert len(opened) == 2


def test_writer_opens_no_producer_before_the_first_record(opened: list[Producer]) -> None:
    """A console in which nobody acts connects to no broker."""
    TopicWriter(AWAY)

    assert opened == []
