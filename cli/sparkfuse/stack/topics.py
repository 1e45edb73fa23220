"""Creates the missing topics with their settings, and checks the existing ones."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.errors import StartError
from sparkfuse_contracts.kafka_access import KafkaAccess, KafkaUnavailableError, explain, principal
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import Topic, topic_name, topics

TIMEOUT_SECONDS = 10.0
CREATE_SECONDS = 60.0
METADATA_SECONDS = 60.0
"""How long to wait until a broker's metadata contain a new topic; only a very busy broker needs more than a second."""
POLL_SECONDS = 0.05
BROKERS_DEFAULT = -1
"""The value that selects the replication factor in the broker's configuration."""
DENIED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
_log = logging.getLogger("sparkfuse.topics")


def broker_answers(bootstrap: str) -> bool:
    """Return whether the broker returns its metadata; use this only for the embedded broker, which has no security."""
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
            pass  # If the port refuses connections, the client would wait for its whole timeout.
        AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=2)
    except (OSError, KafkaException):
        return False
    return True


def ensure_topics(settings: Settings) -> list[str]:
    """Create the missing topics and check the settings of the existing ones.

    A created topic is usable when this function returns: the metadata contain the topic, and each of its partitions has
    a leader. A principal that may only describe topics can call this function too: if all topics exist, it creates
    nothing. If the settings of topics cannot be read, it logs a warning.

    Returns:
        Full names of the created topics.

    Raises:
        StartError: the broker is unreachable, a topic has a setting that breaks a guarantee, or a topic is missing and
            the principal may not create it.
    """
    wanted = {topic_name(name, settings.topic_prefix): topic for name, topic in topics().items()}
    try:
        access = KafkaAccess(settings)
        found = access.describe(dict.fromkeys(wanted, ("DESCRIBE",)))
        created = _create(access.admin, settings, {name: wanted[name] for name in wanted if found[name] is None})
        unchecked = [name for name in wanted if found[name] and not may_check_settings(found[name])]
        for name in wanted.keys() - {*created, *unchecked}:
            access.check_settings(name, wanted[name])
    except KafkaUnavailableError as error:
        raise StartError(str(error)) from error
    if unchecked:
        who = principal(settings)
        _log.warning("%s may not DESCRIBE_CONFIGS, so the settings of %s are not checked", who, ", ".join(unchecked))
    return created


def may_check_settings(description: Any) -> bool:
    """Return whether the principal may read the topic's settings; True if the broker returns no operations."""
    names = {operation.name for operation in description.authorized_operations or ()}
    return not names or "DESCRIBE_CONFIGS" in names


def _create(admin: AdminClient, settings: Settings, wanted: Mapping[str, Topic]) -> list[str]:
    """Create topics, and return the names of those that no other process created in the meantime."""
    if not wanted:
        return []
    made = admin.create_topics(
        [
            NewTopic(
                name, num_partitions=topic.partitions, replication_factor=BROKERS_DEFAULT, config=dict(topic.config)
            )
            for name, topic in wanted.items()
        ],
        request_timeout=CREATE_SECONDS,
    )
    outcomes = {name: _outcome(future) for name, future in made.items()}
    denied = [name for name, error in outcomes.items() if error and error.code() in DENIED]
    if denied:
        raise StartError(
            f"Kafka at {settings.kafka_bootstrap} has no topic {', '.join(denied)}, and {principal(settings)} may not "
            "CREATE topics: ask an administrator to run `sparkfuse kafka topics`"
        )
    for name, error in outcomes.items():
        if error and error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise StartError(f"topic {name} cannot be created: {explain(settings, error)}")
    _wait_for_metadata(admin, list(wanted))
    return [name for name, error in outcomes.items() if error is None]


def _outcome(future: Future[None]) -> KafkaError | None:
    try:
        future.result()
    except KafkaException as error:
        return error.args[0]
    return None


def _wait_for_metadata(admin: AdminClient, names: Sequence[str]) -> None:
    """Wait until the metadata contain the topics, because a broker confirms a topic before its metadata contain it."""
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
