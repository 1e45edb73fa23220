"""Helpers for tests: a Kafka producer, and settings of a process."""

from __future__ import annotations

from confluent_kafka import Producer

from sparkfuse_contracts.settings import Settings


def settings_of(bootstrap: str, prefix: str) -> Settings:
    """Return the settings of a process that uses the topics of a prefix."""
    return Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap, "SPARKFUSE_TOPIC_PREFIX": prefix})


def in_order(bootstrap: str, **settings: object) -> Producer:
    """Return a producer that keeps the order of records in a partition even when it retries a batch.

    A new topic may reject the first batch while the next batch is already being sent.
    """
    return Producer({
        "bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True, **settings,
    })  # fmt: skip
