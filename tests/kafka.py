"""Kafka producers for tests."""

from __future__ import annotations

from confluent_kafka import Producer


def in_order(bootstrap: str, **settings: object) -> Producer:
    """Return a producer that keeps the order of records in a partition, also when it retries a batch.

    A new topic may reject the first batch while the next one is already sent.
    """
    return Producer({
        "bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True, **settings,
    })  # fmt: skip
