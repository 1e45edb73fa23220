"""The windows job's metrics: counted in the JVM, served by the launcher when Prometheus asks."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.settings import Settings

BEAN = "io.sparkfuse:type=windows"


class JvmTally:
    """Asks the JVM's counters over JMX at each scrape; says nothing while there are none."""

    def collect(self) -> Iterable[Metric]:
        """The metrics of this moment."""
        try:
            values = {name: _attribute(name) for name in ("Records", "Undecodable", "LastWindowEndMs")}
        except Exception:  # no job yet, or no JVM any more: the process's end tells it, absent() alerts on it
            return
        labels = ("component", "topic")
        for metric, value in (
            (metric_names.RECORDS_READ, values["Records"]),
            (metric_names.DEAD_LETTERS, values["Undecodable"]),
        ):
            family = CounterMetricFamily(metric.name, metric.help, labels=labels)
            family.add_metric(["windows", "facts"], value)
            yield family
        if values["LastWindowEndMs"]:
            delay = time.time() - values["LastWindowEndMs"] / 1000
            yield GaugeMetricFamily(metric_names.WINDOW_DELAY.name, metric_names.WINDOW_DELAY.help, value=delay)


def serve_metrics(settings: Settings) -> Counter:
    """Serve the metrics on the port of the settings, if any, and give the counter of sent ticks."""
    registry = CollectorRegistry()
    ticks = Counter(metric_names.TICKS_SENT.name, metric_names.TICKS_SENT.help, registry=registry)
    registry.register(JvmTally())
    if settings.metrics_port:
        start_http_server(settings.metrics_port, addr="127.0.0.1", registry=registry)
    return ticks


def _attribute(name: str) -> int:
    from pyflink.java_gateway import get_gateway

    jvm: Any = get_gateway().jvm
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    return int(server.getAttribute(jvm.javax.management.ObjectName(BEAN), name))
