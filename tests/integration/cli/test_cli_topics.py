"""Tests the creation and check of topics on a real broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.errors import MISSING, StartError
from sparkfuse.stack.topics import broker_answers, ensure_topics
from tests.kafka import settings_of


def test_topics_are_created_once_and_then_checked(kafka_bootstrap: str, topic_prefix: str) -> None:
    """The first start creates every topic, and the second start creates none."""
    first = ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    second = ensure_topics(settings_of(kafka_bootstrap, topic_prefix))

    assert f"{topic_prefix}.facts" in first
    assert second == []


def test_topic_with_create_time_is_rejected(kafka_bootstrap: str, topic_prefix: str) -> None:
    """A topic with CreateTime is rejected, and the error says how to fix it.

    Otherwise the facts of a driver with a fast clock would make all other facts late.
    """
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    topic = f"{topic_prefix}.facts"
    admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])[topic].result(60)

    with pytest.raises(StartError) as refused:
        ensure_topics(settings_of(kafka_bootstrap, topic_prefix))

    assert refused.value.exit_code == MISSING
    assert f"topic {topic} has message.timestamp.type=CreateTime, but it must be LogAppendTime" in str(refused.value)


def test_missing_broker_is_one_sentence(free_port: Callable[[], int]) -> None:
    """If nothing listens at the address, the error names the address."""
    nowhere = f"127.0.0.1:{free_port()}"

    assert not broker_answers(nowhere)
    with pytest.raises(StartError, match=f"no Kafka broker answers at {nowhere}"):
        ensure_topics(settings_of(nowhere, "sparkfuse"))
