"""Tests `sparkfuse deadletters` on a real broker."""

from __future__ import annotations

import functools
import json
import time

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner, Result

from sparkfuse.commands.application import application
from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import to_json
from tests.kafka import settings_of
from tests.waiting import wait_for


class Topics:
    """The topics of one test, and the command under test."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.facts = settings, f"{settings.topic_prefix}.facts"
        self._producer = Producer(producer_configuration(settings, {}))

    def put(self, *values: bytes) -> list[int]:
        """Write records with one key to the topic facts, and return their offsets in the partition of the key."""
        offsets: list[int] = []
        for value in values:
            self._producer.produce(
                self.facts,
                value,
                b"app-1",
                on_delivery=lambda _, sent: offsets.append(sent.offset()),
                headers={"h": "1"},
            )
        assert self._producer.flush(60) == 0
        return offsets

    def reject(
        self, offset: int | None, reason: str, payload: bytes, component: str = "windows", topic: str = "facts"
    ) -> None:
        """Write a dead letter about a record of the key's partition."""
        letter = DeadLetter(
            component=component,
            topic=f"{self.settings.topic_prefix}.{topic}",
            reason=reason,
            payload=payload,
            seen_ms=time.time_ns() // 1_000_000,
        )
        if offset is not None:
            letter.kafka_partition, letter.kafka_offset = self.partition, offset
        self._producer.produce(f"{self.settings.topic_prefix}.dead-letters", to_json(letter))
        assert self._producer.flush(60) == 0

    @property
    def partition(self) -> int:
        """The partition of the key app-1."""
        (found,) = {message.partition() for message in self.records()} or {0}
        return found

    def records(self, name: str = "facts") -> list[Message]:
        """Return the records of a topic."""
        topic = f"{self.settings.topic_prefix}.{name}"
        consumer = Consumer({"bootstrap.servers": self.settings.kafka_bootstrap, "group.id": "test"})
        found: list[Message] = []
        try:
            for partition in consumer.list_topics(topic, timeout=60).topics[topic].partitions:
                place = TopicPartition(topic, partition)
                low, high = wait_for(functools.partial(_offsets, consumer, place), 60, f"the leader of {place}")
                consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
                found += consumer.consume(high - low, 60) if high > low else []
        finally:
            consumer.close()
        assert [message.error() for message in found if message.error()] == []
        return found

    def command(self, *arguments: str) -> Result:
        """Run `sparkfuse deadletters`."""
        environment = {
            "SPARKFUSE_KAFKA_BOOTSTRAP": self.settings.kafka_bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": self.settings.topic_prefix,
        }
        return CliRunner(env=environment).invoke(application, ["deadletters", *arguments])


def _offsets(consumer: Consumer, place: TopicPartition) -> tuple[int, int] | None:
    """Return the first and the next offset of a partition; None while it has no leader, as after its creation."""
    try:
        found: tuple[int, int] = consumer.get_watermark_offsets(place, timeout=60)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
            raise
        return None
    return found


@pytest.fixture
def topics(kafka_bootstrap: str, topic_prefix: str) -> Topics:
    """Return the topics of this test on the shared broker."""
    settings = settings_of(kafka_bootstrap, topic_prefix)
    ensure_topics(settings)
    return Topics(settings)


def test_rejected_records_are_listed_and_replayed(topics):
    """Dead letters are grouped by reason; a replay appends the original records and reports those that were deleted."""
    gone, first, second = topics.put(b"gone", b"\xff\x00", b"x" * 100_000)
    topics.reject(gone, "unknown kind", b"gone")
    topics.reject(first, "unknown kind", b"\xff\x00")
    topics.reject(second, "unknown kind", b"x" * 65_536)
    topics.reject(second, "unknown kind", b"x" * 65_536)  # written twice, as after a restart
    topics.reject(7, "no app_id", b"{}", component="detect", topic="live")
    partition = topics.partition
    admin = AdminClient({"bootstrap.servers": topics.settings.kafka_bootstrap})
    for deleted in admin.delete_records([TopicPartition(topics.facts, partition, first)]).values():
        deleted.result(60)

    groups = json.loads(topics.command("list", "--json").stdout)
    shown = topics.command("show", "0/1")
    dry = topics.command("replay", "--topic", "facts", "--reason", "unknown", "--dry-run")
    before = len(topics.records())
    replayed = topics.command("replay", "--topic", "facts", "--reason", "unknown")
    after = topics.records()

    assert [(group["component"], group["reason"], group["count"]) for group in groups] == [
        ("windows", "unknown kind", 3),
        ("detect", "no app_id", 1),
    ]
    assert f"record:    topic {topics.facts}, partition {partition}, offset {first}\n" in shown.stdout
    assert "value:     ff 00\n" in shown.stdout
    assert dry.stdout == "3 records would be replayed\n"
    assert before == 2
    assert "2 of 3 records were replayed\n" in replayed.stdout
    assert "Kafka no longer has the record: 1, for example letter 0/0\n" in replayed.stdout
    assert [message.value() for message in after[before:]] == [b"\xff\x00", b"x" * 100_000]
    assert {(message.key(), message.partition(), str(message.headers())) for message in after} == {
        (b"app-1", partition, "[('h', b'1')]")
    }


def test_row_without_a_place_is_replayed_from_its_letter(topics):
    """A replay appends a row that the detect job rejected, with its key; it only reports bytes that are not a row."""
    row = LiveRow(app_id="app-1", window_end_ms=1)
    topics.reject(None, "no view", row.SerializeToString(), component="detect", topic="live")
    topics.reject(None, "not a row", b"\xff", component="detect", topic="live")

    replayed = topics.command("replay", "--topic", "live")

    assert "1 of 2 records were replayed\n" in replayed.stdout
    assert "the letter lacks a part of the record: 1, for example 0/1\n" in replayed.stdout
    assert [(sent.key(), sent.value()) for sent in topics.records("live")] == [(b"app-1", row.SerializeToString())]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["replay", "--topic", "signals"], "records of signals are not replayed"),
        (["list", "--since", "soon"], "--since must be a duration"),
        (["show", "0/9"], "there is no dead letter '0/9'"),
    ],
)
def test_wrong_command_is_one_sentence(topics, arguments, reason):
    """A topic of signed records, an invalid duration or an unknown letter gives an error of one sentence."""
    error = topics.command(*arguments).exception

    assert isinstance(error, StartError)
    assert error.exit_code == USAGE
    assert reason in str(error)
