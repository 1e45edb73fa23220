"""The topics on the broker: made with their settings, or checked when somebody else made them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from sparkfuse.stack.errors import StartError
from sparkfuse_contracts.topics import Topic, topic_name, topics

TIMEOUT_SECONDS = 10.0
MADE_SECONDS = 60.0
TOLD_SECONDS = 60.0
"""How long a broker may take to tell everybody of a topic that it has made: moments, but for one that is very busy."""
LOOK_SECONDS = 0.05
BROKERS_DEFAULT = -1
"""Replication as the broker has it set: one on the embedded node, the company's rule elsewhere."""


def broker_answers(bootstrap: str) -> bool:
    """Whether a broker tells its metadata there."""
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
            pass  # asking a port that refuses through the client would cost its whole time-out
        _admin(bootstrap).list_topics(timeout=2)
    except (OSError, KafkaException):
        return False
    return True


def ensure_topics(bootstrap: str, prefix: str) -> list[str]:
    """Make the topics that are missing and check the settings of those that are there.

    What was made can be used when this returns: the broker tells of it and each partition has its leader.

    Returns:
        Full names of the topics that were made.

    Raises:
        StartError: the broker is unreachable, or a topic has a setting that would break what we promise.
    """
    admin = _admin(bootstrap)
    try:
        present = set(admin.list_topics(timeout=TIMEOUT_SECONDS).topics)
    except KafkaException as error:
        raise StartError(f"no Kafka broker answers at {bootstrap}: {error.args[0].str()}") from error
    wanted = {topic_name(name, prefix): topic for name, topic in topics().items()}
    for name, topic in wanted.items():
        if name in present:
            _check(admin, name, topic)
    missing = [name for name in wanted if name not in present]
    _create(admin, {name: wanted[name] for name in missing})
    return missing


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "socket.timeout.ms": 20_000})


def _create(admin: AdminClient, wanted: dict[str, Topic]) -> None:
    if not wanted:
        return
    made = admin.create_topics(
        [
            NewTopic(
                name, num_partitions=topic.partitions, replication_factor=BROKERS_DEFAULT, config=dict(topic.config)
            )
            for name, topic in wanted.items()
        ],
        request_timeout=MADE_SECONDS,
    )
    for name, future in made.items():
        try:
            future.result()
        except KafkaException as error:
            raise StartError(f"topic {name} can't be made: {error.args[0].str()}") from error
    _wait_until_told(admin, wanted)


def _wait_until_told(admin: AdminClient, names: Iterable[str]) -> None:
    """A broker answers that it made a topic before it tells of it: who asks in that moment hears of no such topic."""
    until = time.monotonic() + TOLD_SECONDS
    while left := [name for name in names if not _has_leaders(admin, name)]:
        if time.monotonic() > until:
            raise StartError(f"topic {left[0]} was made, but the broker does not tell of it")
        time.sleep(LOOK_SECONDS)


def _has_leaders(admin: AdminClient, name: str) -> bool:
    try:
        partitions = admin.list_topics(name, timeout=TIMEOUT_SECONDS).topics[name].partitions
    except KafkaException:
        return False
    return bool(partitions) and all(partition.error is None for partition in partitions.values())


ESSENTIAL = ("message.timestamp.type", "cleanup.policy")
"""Settings that a promise rests on; retention and compression are the operator's to change."""


def _check(admin: AdminClient, name: str, topic: Topic) -> None:
    resource = ConfigResource(ResourceType.TOPIC, name)
    actual = admin.describe_configs([resource])[resource].result(TIMEOUT_SECONDS)
    for setting, right in topic.config.items():
        value = actual[setting].value
        if setting in ESSENTIAL and value != right:
            raise StartError(
                f"topic {name} has {setting}={value}, it must be {right}: "
                f"set it with `kafka-configs --alter --topic {name} --add-config {setting}={right}`"
            )
