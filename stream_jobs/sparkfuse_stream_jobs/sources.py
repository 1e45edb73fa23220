"""What the windows job of a source does differently: the Kafka cluster of its facts may be away for a long time."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.kafka_access import BrokerNotReadyError, FoundTopic, require_access
from sparkfuse_contracts.settings import Settings

LOG = logging.getLogger(__name__)
RETRY_SECONDS = 1.0


def source_up(settings: Settings, registry: CollectorRegistry) -> Gauge:
    """Return a new gauge of the registry: whether the cluster of this process's source accepts ticks."""
    metric = metric_names.SOURCE_UP
    return Gauge(metric.name, metric.help, metric.labels, registry=registry).labels(settings.source)


def require_topics(settings: Settings, *, waits: bool = False) -> tuple[int, int]:
    """Check the access to the Kafka clusters; return the numbers of partitions of ``facts`` and ``live``.

    With ``waits``, this function waits until the cluster of the source answers. Raises KafkaUnavailableError.
    """
    home = require_access(settings, "windows")
    if not settings.source:
        at_source = home
    else:
        at_source = _wait_for_source(settings) if waits else require_access(settings.at_source(), "source")
    return len(at_source["facts"].partitions), len(home["live"].partitions)


def _wait_for_source(settings: Settings) -> Mapping[str, FoundTopic]:
    away = False
    while True:
        try:
            found = require_access(settings.at_source(), "source")
        except BrokerNotReadyError as error:
            if not away:
                LOG.warning("source %s is away; waiting: %s", settings.source, error)
            away = True
            time.sleep(RETRY_SECONDS)
        else:
            if away:
                LOG.info("source %s answers", settings.source)
            return found
