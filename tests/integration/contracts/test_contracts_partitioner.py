"""Tests that Python's producers assign record keys to the same partitions as Kafka's Java client."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings

PARTITIONS = 7
# Hashes of the murmur2 function of Kafka's Java client, as signed 32-bit numbers.
JAVA_HASHES = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}


def test_partition_of_a_key_is_that_of_the_java_client(kafka_bootstrap: str, topic_prefix: str) -> None:
    """The partition of a record key is the one that Kafka's Java client computes."""
    topic, found = f"{topic_prefix}.keys", {}
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result()
    settings = Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap})
    producer = Producer(producer_configuration(settings, {}))
    for key in JAVA_HASHES:
        producer.produce(topic, b"", key, on_delivery=lambda _, sent: found.update({sent.key(): sent.partition()}))

    assert producer.flush(60) == 0
    assert found == {key: (number & 0x7FFFFFFF) % PARTITIONS for key, number in JAVA_HASHES.items()}
