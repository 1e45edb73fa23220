"""Topics on a real broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.errors import MISSING, StartError
from sparkfuse.stack.topics import broker_answers, ensure_topics


def test_topics_are_made_once_and_then_only_checked(kafka_bootstrap: str, topic_prefix: str) -> None:
    """The first start makes every topic, the second one none, and both agree with the contract."""
    first = ensure_topics(kafka_bootstrap, topic_prefix)
    second = ensure_topics(kafka_bootstrap, topic_prefix)

    assert f"{topic_prefix}.facts" in first
    assert second == []


def test_a_topic_with_the_senders_clock_is_refused(kafka_bootstrap: str, topic_prefix: str) -> None:
    """With CreateTime one driver an hour ahead would make all others late: the sentence says how to mend it."""
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    topic = f"{topic_prefix}.facts"
    admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])[topic].result(60)

    with pytest.raises(StartError) as refused:
        ensure_topics(kafka_bootstrap, topic_prefix)

    assert refused.value.exit_code == MISSING
    assert f"topic {topic} has message.timestamp.type=CreateTime, it must be LogAppendTime" in str(refused.value)


def test_a_broker_that_is_away_is_one_sentence(free_port: Callable[[], int]) -> None:
    """An address where nothing listens is a failure that names it."""
    nowhere = f"127.0.0.1:{free_port()}"

    assert not broker_answers(nowhere)
    with pytest.raises(StartError, match=f"no Kafka broker answers at {nowhere}"):
        ensure_topics(nowhere, "sparkfuse")
