"""Tests that the loader reads partitions that are added while it runs."""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from sparkfuse_contracts.kafka_access import FoundTopic
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.loader import kafka
from tests.waiting import wait_for


def test_added_partition_is_read_from_its_beginning(kafka_bootstrap: str, topic_prefix: str, monkeypatch) -> None:
    """Records of a new partition are returned from the first one on; those of the old partition are not repeated."""
    monkeypatch.setattr(kafka, "DISCOVERY_SECONDS", 0.1)
    topic = f"{topic_prefix}.facts"
    errors: list[KafkaError] = []
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(60)
    settings = Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap})
    reader = kafka.TopicReader(settings, FoundTopic(topic, "id", (0,)), errors.append, times=True)
    found: list[tuple[int, int, bytes]] = []
    times: list[int] = []
    started_ms = time.time_ns() // 1_000_000

    def read(count: int) -> bool:
        for records in reader.read(100, 0.5):
            values = zip(records.offsets.tolist(), records.values, strict=True)
            times.extend(records.appended_ms.tolist())
            found.extend((records.partition, offset, value) for offset, value in values)
        return len(found) >= count

    try:
        reader.start({})
        write(kafka_bootstrap, topic, 0, b"old")
        wait_for(lambda: read(1), 60, "the record of the old partition")
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
        write(kafka_bootstrap, topic, 1, b"first")
        write(kafka_bootstrap, topic, 0, b"next")
        wait_for(lambda: read(3), 60, "the records after the change")
        lag = reader.lag()
    finally:
        reader.close()

    assert sorted(found) == [(0, 0, b"old"), (0, 1, b"next"), (1, 0, b"first")]
    assert lag == 0
    assert all(started_ms <= each <= time.time_ns() // 1_000_000 for each in times)
    assert len(times) == len(found)


def write(bootstrap: str, topic: str, partition: int, value: bytes) -> None:
    """Write one record; a new producer knows new partitions immediately."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0
