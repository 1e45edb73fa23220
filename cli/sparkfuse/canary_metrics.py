"""The metrics of `sparkfuse canary`."""

from __future__ import annotations

import logging

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from sparkfuse.canary import FAILED, FOUND, MISSED, Answer
from sparkfuse.stack.errors import MISSING, StartError
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import Settings

# The objective is 30 s.
DELAY_SECONDS = (2, 5, 7.5, 10, 15, 20, 30, 60, 120)
log = logging.getLogger("sparkfuse.canary")


class CanaryMetrics:
    """The number of probes by outcome, and the delay of those whose finding arrived."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        probes, delay = metric_names.CANARY_PROBES, metric_names.CANARY_DELAY
        self._probes = Counter(probes.name, probes.help, probes.labels, registry=registry)
        self._delay = Histogram(delay.name, delay.help, buckets=DELAY_SECONDS, registry=registry)
        for outcome in (FOUND, MISSED, FAILED):
            self._probes.labels(outcome)

    def serve(self, settings: Settings) -> None:
        """Serve the metrics at the port of the settings, if one is set. Raises StartError if the port is in use."""
        try:
            serve_metrics(settings)
        except MetricsPortError as error:
            raise StartError(str(error), MISSING) from error

    def count(self, answer: Answer) -> None:
        """Count the result of one probe."""
        self._probes.labels(answer.outcome).inc()
        if answer.delay_seconds is not None:
            self._delay.observe(answer.delay_seconds)
        else:
            log.warning("probe %s: %s", answer.outcome, answer.reason or "no finding arrived in time")
