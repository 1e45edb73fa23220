"""The metrics of the windows job, which the JVM counts and the launcher serves to Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.errors import MissingPartError

# Set by io.sparkfuse.windows.JobCounters.
PROPERTY = "sparkfuse.windows.counters"


class Counts(NamedTuple):
    """Records read, records not decoded and queries dropped since the JVM started; end of the last window [ms]."""

    records: int
    undecodable: int
    queries_dropped: int
    last_window_end_ms: int


class JvmCounters:
    """Reads the counters of the JVM at each scrape; before the first window, there are no metrics."""

    def collect(self) -> Iterable[Metric]:
        """Return the current metrics."""
        try:
            counts = _counts()
        except Exception:  # the JVM ended; the process exits too, and an alert reports its absence
            return
        if counts is None:
            return
        labels = ("component", "topic")
        for metric, value in (
            (metric_names.RECORDS_READ, counts.records),
            (metric_names.DEAD_LETTERS, counts.undecodable),
        ):
            family = CounterMetricFamily(metric.name, metric.help, labels=labels)
            family.add_metric(["windows", "facts"], value)
            yield family
        name = metric_names.QUERIES_DROPPED
        yield CounterMetricFamily(name.name, name.help, value=counts.queries_dropped)
        delay = time.time() - counts.last_window_end_ms / 1000
        yield GaugeMetricFamily(metric_names.WINDOW_DELAY.name, metric_names.WINDOW_DELAY.help, value=delay)


def serve_metrics(settings: Settings, *, with_job: bool = True) -> Counter:
    """Serve the metrics if a port is configured, and return the counter of sent ticks.

    ``with_job`` adds the counters of the job, which run in this process's JVM. Raises MissingPartError if the port is
    in use.
    """
    registry = CollectorRegistry()
    ticks = Counter(metric_names.TICKS_SENT.name, metric_names.TICKS_SENT.help, registry=registry)
    if with_job:
        registry.register(JvmCounters())
    if settings.metrics_port:
        try:
            start_http_server(settings.metrics_port, addr=settings.metrics_address, registry=registry)
        except OSError as error:
            raise MissingPartError(f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error}") from error
    return ticks


def _counts() -> Counts | None:
    from pyflink.java_gateway import get_gateway

    text = get_gateway().jvm.java.lang.System.getProperty(PROPERTY)
    return Counts(*map(int, str(text).split())) if text else None
