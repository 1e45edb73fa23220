"""Checks the topics before a job starts, because a wrong setting would cause wrong sums later."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name, topics
from sparkfuse_stream_jobs.errors import MissingPartError

TIMEOUT_SECONDS = 15.0
NEW_TOPIC_SECONDS = 3.0
CHECKED = "message.timestamp.type"


def check_topics(settings: Settings, names: Iterable[str]) -> dict[str, int]:
    """Check the topics ``names`` (without the prefix) and return the number of partitions of each.

    Raises MissingPartError if the broker does not answer, a topic is missing, or a topic does not store the arrival
    time of its records.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    # Silences the client, which logs many lines about an unreachable broker.
    quiet = logging.getLogger("sparkfuse.quiet")
    quiet.setLevel(logging.CRITICAL + 1)
    client = AdminClient({"bootstrap.servers": settings.kafka_bootstrap}, logger=quiet)
    full_names = {name: topic_name(name, settings.topic_prefix) for name in names}
    try:
        known = _known_topics(client, set(full_names.values()))
    except KafkaException as error:
        raise MissingPartError(f"Kafka at {settings.kafka_bootstrap} does not answer: {error.args[0].str()}") from error
    missing = [full for full in full_names.values() if full not in known]
    if missing:
        raise MissingPartError(
            f"Kafka at {settings.kafka_bootstrap} has no topic {', '.join(missing)}: "
            "`sparkfuse up` creates them, or create them as described in contracts/topics.yaml"
        )
    for name, full in full_names.items():
        _check_time(client, full, topics()[name].config.get(CHECKED))
    return {name: len(known[full].partitions) for name, full in full_names.items()}


def _known_topics(client: Any, wanted: set[str]) -> dict[str, Any]:
    """Return all topics. If one is missing, repeat for a while, because a new topic is not visible at once."""
    deadline = time.monotonic() + NEW_TOPIC_SECONDS
    while True:
        known: dict[str, Any] = client.list_topics(timeout=TIMEOUT_SECONDS).topics
        if wanted <= known.keys() or time.monotonic() > deadline:
            return known
        time.sleep(0.2)


def _check_time(client: Any, full_name: str, wanted: str | None) -> None:
    if wanted is None:
        return
    from confluent_kafka.admin import ConfigResource, ResourceType

    resource = ConfigResource(ResourceType.TOPIC, full_name)
    settings = client.describe_configs([resource], request_timeout=TIMEOUT_SECONDS)[resource].result()
    found = settings[CHECKED].value
    if found != wanted:
        raise MissingPartError(
            f"topic {full_name} has {CHECKED}={found}, but the windows job needs {wanted}, because sender clocks can "
            f"be wrong: kafka-configs --alter --entity-type topics --entity-name {full_name} "
            f"--add-config {CHECKED}={wanted}"
        )
