"""Producers of the tests."""

from __future__ import annotations

from confluent_kafka import Producer


def in_order(bootstrap: str, **settings: object) -> Producer:
    """A producer whose records stand in a partition in the order in which it was given them, whatever it had to repeat.

    A topic that was just made may refuse the first batch while the next one is on its way.
    """
    return Producer({
        "bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True, **settings,
    })  # fmt: skip
