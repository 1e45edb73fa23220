"""Creates the topics with their settings, and checks those that exist."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from sparkfuse.stack.errors import StartError
from sparkfuse_contracts.topics import Topic, topic_name, topics

TIMEOUT_SECONDS = 10.0
CREATE_SECONDS = 60.0
METADATA_SECONDS = 60.0
"""How long a broker may take until its metadata contain a new topic: moments, unless it is very busy."""
POLL_SECONDS = 0.05
BROKERS_DEFAULT = -1
"""The replication factor that is configured on the broker."""


def broker_answers(bootstrap: str) -> bool:
    """Return whether a broker at this address returns its metadata."""
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
            pass  # the client would wait for its whole timeout if the port refuses connections
        _admin(bootstrap).list_topics(timeout=2)
    except (OSError, KafkaException):
        return False
    return True


def ensure_topics(bootstrap: str, prefix: str) -> list[str]:
    """Create the missing topics and check the settings of the existing ones.

    A created topic is usable when this returns: it is in the metadata, and each partition has a leader.

    Returns:
        Full names of the created topics.

    Raises:
        StartError: the broker is unreachable, or a topic has a setting that breaks a guarantee.
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
        request_timeout=CREATE_SECONDS,
    )
    for name, future in made.items():
        try:
            future.result()
        except KafkaException as error:
            raise StartError(f"topic {name} cannot be created: {error.args[0].str()}") from error
    _wait_for_metadata(admin, wanted)


def _wait_for_metadata(admin: AdminClient, names: Iterable[str]) -> None:
    """Wait until the metadata contain the topics; a broker confirms a topic before its metadata contain it."""
    until = time.monotonic() + METADATA_SECONDS
    while left := [name for name in names if not _has_leaders(admin, name)]:
        if time.monotonic() > until:
            raise StartError(f"topic {left[0]} was created, but is missing in the metadata of the broker")
        time.sleep(POLL_SECONDS)


def _has_leaders(admin: AdminClient, name: str) -> bool:
    try:
        partitions = admin.list_topics(name, timeout=TIMEOUT_SECONDS).topics[name].partitions
    except KafkaException:
        return False
    return bool(partitions) and all(partition.error is None for partition in partitions.values())


ESSENTIAL = ("message.timestamp.type", "cleanup.policy")
"""Settings that a guarantee depends on; operators may change retention and compression."""


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
