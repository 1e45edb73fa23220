"""Tests that dead letters replace records that Kafka rejects, and that the rest of the transaction is committed.

The broker in these tests is the client library's mock broker, which supports transactions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.broker import Broker
from sparkfuse_collectors.ship.errors import BrokerLostError
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.wire import from_json
from tests.kafka import settings_of

HUGE = b"x" * 2_000_000
BAD = b"bad"
# Largest number of records in one request of the client.
MAX_PACKED = 10_000
OnDelivery = Callable[[KafkaError | None, None], None] | None


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    """Return the address of a mock broker that exists as long as its client."""
    client = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = client.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del client


@pytest.fixture
def rejected() -> list[int]:
    return []


@pytest.fixture
def broker(mock: str, topic_prefix: str, rejected: list[int]) -> Iterator[Broker]:
    settings = settings_of(mock, topic_prefix)
    found = Broker(settings, "test", threading.Event(), lambda _error: None, on_rejected=lambda: rejected.append(1))
    found.start()
    yield found
    found.close()


@dataclass
class Packing:
    """A transactional producer whose broker rejects all records that are in the same request as a ``BAD`` record.

    The producer behaves as with the real broker in test_collectors_ship_kafka.py.
    """

    settings: dict[str, object]
    committed: list[tuple[str, bytes]] = field(default_factory=list)
    flushes: int = 0
    begun: int = 0
    _open: list[tuple[str, bytes]] = field(default_factory=list)
    _waiting: list[tuple[str, bytes, OnDelivery]] = field(default_factory=list)
    _must_abort: bool = False

    def init_transactions(self, timeout: float) -> None:
        pass

    def begin_transaction(self) -> None:
        self.begun += 1
        self._open.clear()
        self._must_abort = False

    def produce(self, topic: str, value: bytes, key: bytes | None, on_delivery: OnDelivery) -> None:
        if self._must_abort:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self._waiting.append((topic, value, on_delivery))

    def flush(self, timeout: float) -> int:
        self.flushes += 1
        waiting, self._waiting = self._waiting, []
        for at in range(0, len(waiting), MAX_PACKED):
            packed = waiting[at : at + MAX_PACKED]
            wrong = {topic for topic, value, _ in packed if value == BAD}
            for topic, value, on_delivery in packed:
                answer = on_delivery or (lambda _error, _message: None)
                if self._must_abort:
                    answer(KafkaError(KafkaError._PURGE_QUEUE), None)
                elif topic in wrong:
                    answer(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), None)
                else:
                    self._open.append((topic, value))
                    answer(None, None)
            self._must_abort = self._must_abort or bool(wrong)
        return 0

    def commit_transaction(self, timeout: float) -> None:
        self.flush(timeout)
        if self._must_abort:
            raise KafkaException(KafkaError(KafkaError._STATE, "rejected", False, False, True))
        self.committed += self._open

    def abort_transaction(self, timeout: float) -> None:
        self._waiting.clear()


def values(bootstrap: str, topic: str) -> list[bytes]:
    """Return all values of the topic, partition by partition."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "none", "enable.partition.eof": True, "log_level": 0,
    })  # fmt: skip
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found, open_ends = [], set(partitions)
    while open_ends:
        message = consumer.poll(10)
        assert message is not None, f"{topic} returned no message"
        if message.error() is None:
            found.append(message.value())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            open_ends.discard(message.partition())
    consumer.close()
    return found


def test_too_large_record_becomes_a_dead_letter(
    mock: str, topic_prefix: str, broker: Broker, rejected: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """A record that is too large is counted, and logged once with topic, key and size; the rest is committed."""
    caplog.set_level(logging.WARNING)
    batch = Batch()
    batch.add("facts", b"app", b"one")
    batch.add("history", b"app", HUGE)
    batch.add("facts", b"app", b"two")
    batch.add("positions", b"log", b"position")
    broker.send(batch)

    assert values(mock, f"{topic_prefix}.facts") == [b"one", b"two"]
    assert values(mock, f"{topic_prefix}.positions") == [b"position"]
    (letter,) = (from_json(DeadLetter, value) for value in values(mock, f"{topic_prefix}.dead-letters"))
    assert (letter.component, letter.topic) == ("shipper", f"{topic_prefix}.history")
    assert letter.payload == HUGE[:DEAD_LETTER_PAYLOAD_BYTES]
    assert rejected == [1]
    (message,) = caplog.messages
    assert message.startswith("Kafka rejects a record of 2000000 bytes for history with the key 'app': ")
    assert letter.reason in message


def test_facts_are_not_sent_without_their_position(broker: Broker, rejected: list[int]) -> None:
    """If the broker rejects the position, the transaction is aborted; otherwise its facts would be sent again later."""
    batch = Batch()
    batch.add("facts", b"app", b"one")
    batch.add("positions", b"log", HUGE)

    with pytest.raises(BrokerLostError, match="Kafka rejects a record for positions"):
        broker.send(batch)
    assert rejected == []


@pytest.mark.parametrize(
    ("count", "bad"),
    [(20_000, [13_579]), (20_000, [0, 19_999]), (4_000, [17, 18, 19, 2_500]), (1, [0]), (2, [0, 1])],
    ids=["one in the middle", "at both ends", "neighbours", "only record", "only bad records"],
)
def test_bad_records_are_found_by_halving(
    monkeypatch: pytest.MonkeyPatch, rejected: list[int], count: int, bad: list[int]
) -> None:
    """Finding a bad record by repeated halving takes about twenty attempts with few flushes.

    The number of attempts matters because a transaction may last only one minute.
    """
    monkeypatch.setattr("sparkfuse_collectors.ship.broker.Producer", Packing)
    settings = settings_of("127.0.0.1:1", "p")
    broker = Broker(settings, "test", threading.Event(), lambda _error: None, on_rejected=lambda: rejected.append(1))
    packing = broker._producer
    assert isinstance(packing, Packing)
    batch = Batch()
    for number in range(count):
        batch.add("facts" if number % 3 else "history", b"app", BAD if number in bad else b"%d" % number)
    batch.add("positions", b"log", b"position")
    broker.send(batch)

    good = [b"%d" % number for number in range(count) if number not in bad]
    assert [value for topic, value in packing.committed if topic in {"p.facts", "p.history"}] == good
    assert [topic for topic, _ in packing.committed].count("p.dead-letters") == len(bad) == len(rejected)
    assert packing.committed[-1] == ("p.positions", b"position")
    halvings = count.bit_length() + 2
    assert packing.begun <= len(bad) * halvings + 1
    assert packing.flushes <= packing.begun * (halvings + 5)
