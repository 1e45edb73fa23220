"""What Kafka never takes: a record that is too large is set aside, and what belongs to it goes on as one transaction.

The broker is the client library's own mock, which speaks the protocol of transactions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from sparkfuse_collectors.ship.broker import PAYLOAD_BYTES, Batch, Broker, BrokerLost
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.wire import from_json

HUGE = b"x" * 2_000_000


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    """The address of a broker that lives as long as a client of ours."""
    client = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = client.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del client


@pytest.fixture
def refused() -> list[int]:
    return []


@pytest.fixture
def broker(mock: str, topic_prefix: str, refused: list[int]) -> Iterator[Broker]:
    found = Broker(
        mock, topic_prefix, "test", threading.Event(), lambda _error: None, on_refused=lambda: refused.append(1)
    )
    found.start()
    yield found
    found.close()


def values(bootstrap: str, topic: str) -> list[bytes]:
    """All values of the topic, in the order of partitions."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "none", "enable.partition.eof": True, "log_level": 0,
    })  # fmt: skip
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found, open_ends = [], set(partitions)
    while open_ends:
        message = consumer.poll(10)
        assert message is not None, f"{topic} does not answer"
        if message.error() is None:
            found.append(message.value())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            open_ends.discard(message.partition())
    consumer.close()
    return found


def test_a_record_that_is_too_large_is_set_aside_and_the_rest_goes_on(
    mock: str, topic_prefix: str, broker: Broker, refused: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted, told once with its kind, key and size, and kept in part; facts and position are committed."""
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
    assert letter.payload == HUGE[:PAYLOAD_BYTES]
    assert refused == [1]
    (said,) = caplog.messages
    assert said.startswith("a record of 2000000 bytes for history under 'app' is not taken: ")
    assert letter.reason in said


def test_facts_do_not_go_without_their_position(broker: Broker, refused: list[int]) -> None:
    """A position that is not taken ends the transaction: without it its facts would come twice."""
    batch = Batch()
    batch.add("facts", b"app", b"one")
    batch.add("positions", b"log", HUGE)

    with pytest.raises(BrokerLost, match="a record for positions is not taken"):
        broker.send(batch)
    assert refused == []
