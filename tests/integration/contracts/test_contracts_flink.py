"""Tests that Flink reads each example as its golden row, through the broker and the generated tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from google.protobuf.message import Message as ProtobufMessage

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.examples import examples, message_class, snake_case
from sparkfuse_contracts.topics import Topic, topic_name, topics
from sparkfuse_contracts.wire import from_json, to_json
from tests.integration.contracts.conftest import Sent
from tests.integration.contracts.golden import golden, without_null
from tests.kafka import settings_of

READER = Path(__file__).with_name("flink_reader.py")
ROOT = Path(__file__).parents[3]
# Planning and compiling the wide rows takes about ten seconds of CPU time, and the machine may be busy.
pytestmark = pytest.mark.timeout(600)
WRITTEN_BY_WINDOWS = ("live", "dead-letters")


@pytest.fixture(scope="module")
def read_by_flink(sent_examples) -> Sent:
    """Run Flink on the examples: it reads all topics and writes the topics of the windows job."""
    bootstrap, prefix = sent_examples.bootstrap, sent_examples.prefix
    copies = f"{prefix}-copy"
    ensure_topics(settings_of(bootstrap, copies))
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(f"{prefix}.rows.{name}", 1) for name in topics()]).values():
        made.result(30)
    command = [sys.executable, str(READER), bootstrap, prefix, copies, str(ROOT / "build/flink-libs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"JVM_ARGS": "-Xmx1g"})

    assert done.returncode == 0, done.stderr[-3000:]
    return sent_examples


@pytest.mark.parametrize("name", list(topics()))
def test_flink_reads_the_golden_rows(read_by_flink, name) -> None:
    """Each field of a row that Flink reads equals the golden row. An absent field is NULL, and zero is zero."""
    cases = read_by_flink.cases(name)
    values = _values(read_by_flink.bootstrap, f"{read_by_flink.prefix}.rows.{name}", len(cases))
    rows = {case: without_null(json.loads(value)) for case, value in zip(cases, values, strict=True)}

    assert rows == golden("flink", snake_case(topics()[name].message), rows)


@pytest.mark.parametrize("name", WRITTEN_BY_WINDOWS)
def test_flink_writes_what_it_read(read_by_flink, name) -> None:
    """A message that Flink reads and writes is unchanged: absent fields stay absent."""
    topic = topics()[name]
    copied = _values(
        read_by_flink.bootstrap, topic_name(name, f"{read_by_flink.prefix}-copy"), len(read_by_flink.cases(name))
    )
    written = [_parse(topic, value) for value in copied]

    assert sorted(map(to_json, written)) == sorted(map(to_json, examples(topic.message).values()))


def _parse(topic: Topic, value: bytes) -> ProtobufMessage:
    kind = message_class(topic.message)
    return kind.FromString(value) if topic.encoding == "protobuf" else from_json(kind, value)


def _values(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """Return the first values of the topic; the values of each partition are in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "golden", "isolation.level": "read_committed"})
    partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    messages: list[Message] = []
    while len(messages) < count:
        received = consumer.consume(count - len(messages), timeout=60)
        assert received, f"{topic} has only {len(messages)} of {count} records"
        messages += received
    consumer.close()
    return [message.value() or b"" for message in messages]
