"""The metrics of both jobs: Flink counts them, and the launcher of a mini cluster serves them to Prometheus.

On a Flink cluster, Flink's Prometheus reporter serves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from sparkfuse_contracts import metrics_server
from sparkfuse_contracts.metric_names import Metric
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.errors import MissingPartError
from sparkfuse_stream_jobs.placement import on_cluster

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family
    from pyflink.datastream.functions import RuntimeContext

# The group of Sparkfuse's metrics in Flink (io.sparkfuse.metrics.StepMetrics).
GROUP = "sparkfuse"
# Keeps the metrics of a mini cluster for the launcher.
REPORTER = {
    "metrics.reporters": "launcher",
    "metrics.reporter.launcher.factory.class": "io.sparkfuse.metrics.LauncherReporterFactory",
}


class MiniClusterMetrics(Collector):
    """Reads the metrics of this process's mini cluster at each scrape."""

    def describe(self) -> Iterable[Family]:
        """Return nothing, so that registration does not call the JVM."""
        return []

    def collect(self) -> Iterable[Family]:
        """Return the current metrics; none if the JVM has ended."""
        from pyflink.java_gateway import get_gateway

        try:
            text = str(get_gateway().jvm.io.sparkfuse.metrics.LauncherReporter.text())
        except Exception:  # the JVM ended; the process exits too, and an alert reports its absence
            return
        yield from text_string_to_metric_families(text)


def serve_metrics(settings: Settings, *, with_job: bool = True) -> CollectorRegistry:
    """Serve the metrics of this process if a port is configured, and return their registry.

    ``with_job`` adds the metrics of the job if it runs in a mini cluster of this process. Call this function after the
    job was started: the supervisor regards the metrics as the sign that the job runs. Raises MissingPartError if the
    port cannot be used.
    """
    registry = CollectorRegistry()
    if with_job:
        add_job_metrics(registry)
    try:
        metrics_server.serve_metrics(settings, registry)
    except metrics_server.MetricsPortError as error:
        raise MissingPartError(str(error)) from error
    return registry


def add_job_metrics(registry: CollectorRegistry) -> None:
    """Add the metrics of the job to the registry if the job runs in a mini cluster of this process."""
    if not on_cluster():
        registry.register(MiniClusterMetrics())


def step_counter(context: RuntimeContext, metric: Metric, *values: str) -> Any:
    """Return the counter of a Python step with these values of the metric's labels."""
    group = context.get_metrics_group()
    for label, value in zip(metric.labels, values, strict=True):
        group = group.add_group(label, value)
    return group.add_group(GROUP).counter(metric.name.removeprefix(f"{GROUP}_"))
