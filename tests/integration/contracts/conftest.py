"""Fixtures that send all examples of all messages through a real broker."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from google.protobuf.message import Message

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.examples import examples
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.topics import topic_name, topics
from sparkfuse_contracts.wire import from_json, record_key, to_json
from tests.kafka import in_order, settings_of


@dataclass(frozen=True)
class Sent:
    """The topics with the examples; all examples are in partition 0, so that an offset identifies an example."""

    bootstrap: str
    prefix: str

    def cases(self, topic: str) -> tuple[str, ...]:
        """Return the name of the example at each offset."""
        return tuple(examples(topics()[topic].message))


def _key(topic: str, message: Message) -> bytes | None:
    if isinstance(message, SignedMessage):  # a compacted topic needs a key, also for an unsigned example
        return record_key("signals", from_json(Signal, message.payload.encode())) or b"unsigned"
    return record_key(topic, message)


@pytest.fixture(scope="session")
def sent_examples(kafka_bootstrap) -> Sent:
    """Send the examples to topics with the settings of the contract."""
    prefix = f"golden-{uuid.uuid4().hex[:8]}"
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    producer = in_order(kafka_bootstrap)
    refused: list[str] = []
    for topic in topics().values():
        for message in examples(topic.message).values():
            value = message.SerializeToString() if topic.encoding == "protobuf" else to_json(message)
            producer.produce(
                topic_name(topic.name, prefix),
                value,
                _key(topic.name, message),
                partition=0,
                on_delivery=lambda error, _: refused.append(error.str()) if error else None,
            )
    assert producer.flush(30) == 0
    assert refused == []
    return Sent(kafka_bootstrap, prefix)
