"""Looks at the topics before a job starts: a wrong setting shows as wrong sums much later."""

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
    """Number of partitions of each topic of ``names`` (behind the prefix), once all are as the contract wants them.

    Raises MissingPartError when the broker does not answer, a topic is not there, or its records would not carry
    the time at which they arrived.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    # The client's own complaints about an unreachable broker are many lines; ours is one.
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
            "`sparkfuse up` creates them, or create them as contracts/topics.yaml says"
        )
    for name, full in full_names.items():
        _check_time(client, full, topics()[name].config.get(CHECKED))
    return {name: len(known[full].partitions) for name, full in full_names.items()}


def _known_topics(client: Any, wanted: set[str]) -> dict[str, Any]:
    """All topics; looks again for a moment when one is missing, since a new one takes a while to be told."""
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
            f"topic {full_name} has {CHECKED}={found}, but windows need {wanted}, since a sender's clock may be wrong: "
            f"kafka-configs --alter --entity-type topics --entity-name {full_name} --add-config {CHECKED}={wanted}"
        )
