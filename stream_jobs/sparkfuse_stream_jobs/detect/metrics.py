"""The detect job's metrics, in the process that runs its Python steps.

The JVM counts the records that it reads (io.sparkfuse.detect.LiveRowCounters); each scrape fetches these counts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from prometheus_client import REGISTRY, Counter, Gauge
from prometheus_client.core import CounterMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.metric_names import Metric

COMPONENT, TOPIC = "detect", "live"
# An application without a row for this long is no longer counted as running.
SILENT_MS = 60_000
MAX_REASONS = 100
# The Java system property that io.sparkfuse.detect.LiveRowCounters sets.
PROPERTY = "sparkfuse.detect.live"

log = logging.getLogger(__name__)


class ReadCounts(NamedTuple):
    """Records read since the JVM started, newest end of a window [ms since epoch], rows by view."""

    records: int = 0
    window_end_ms: int = 0
    rows: Mapping[str, int] = {}


class DetectMetrics(Collector):
    """The metrics of the job; one instance per process, because a metric can be registered only once."""

    def __init__(self) -> None:
        self._findings = _counter(metric_names.FINDINGS)
        self._firing = _gauge(metric_names.FINDINGS_FIRING)
        _gauge(metric_names.WINDOW_DELAY).set_function(self._delay_seconds)
        _gauge(metric_names.APPLICATIONS).set_function(lambda: len(self._running()))
        _gauge(metric_names.COMPLETENESS).set_function(lambda: min(self._running(), default=1.0))
        self._rejected = 0
        self._reasons: set[str] = set()
        self._applications: dict[str, tuple[int, float]] = {}
        self._firing_now: dict[str, tuple[str, str]] = {}

    def describe(self) -> Iterable[Family]:
        """Return nothing, so that registration does not call a JVM that does not run yet."""
        return []

    def collect(self) -> Iterable[Family]:
        """Return the counts of the JVM and of this process."""
        counts = read_counts()
        of_topic = {"component": COMPONENT, "topic": TOPIC}
        yield _family(metric_names.RECORDS_READ, [(of_topic, counts.records)])
        yield _family(metric_names.DEAD_LETTERS, [(of_topic, self._rejected)])
        yield _family(metric_names.LIVE_ROWS, [({"view": view}, rows) for view, rows in counts.rows.items()])

    def count_rejected(self, reason: str) -> None:
        """Count a row that cannot be used; each reason is logged once, because it may recur with every row."""
        self._rejected += 1
        if reason not in self._reasons and len(self._reasons) < MAX_REASONS:
            self._reasons.add(reason)
            log.warning("skipped a row: %s; further rows with this error are only counted", reason)

    def observe_row(self, row: LiveRow) -> None:
        """Update the running applications from a row."""
        if row.HasField("application") and row.application.ended_ms:
            self._applications.pop(row.app_id, None)  # processes of an ended application may send rows for a while
        elif row.HasField("application"):
            self._applications[row.app_id] = (row.window_end_ms, row.completeness)
        elif row.HasField("application_ended"):
            self._applications.pop(row.app_id, None)

    def count_finding(self, finding: Finding, changed: bool) -> None:
        """Count a published finding; ``changed`` is false if the last record had the same state and severity."""
        if changed:
            self._findings.labels(finding.rule, finding.severity, finding.state).inc()
        before = self._firing_now.pop(finding.finding_id, None)
        now = (finding.rule, finding.severity) if finding.state == "firing" else None
        if before and before != now:
            self._firing.labels(*before).dec()
        if now:
            self._firing_now[finding.finding_id] = now
            if now != before:
                self._firing.labels(*now).inc()

    def _running(self) -> list[float]:
        """Return the completeness of each running application."""
        since_ms = read_counts().window_end_ms - SILENT_MS
        # The loop uses a copy, because the step changes the dictionary in another thread.
        for app, (seen_ms, _) in list(self._applications.items()):
            if seen_ms < since_ms:
                self._applications.pop(app, None)
        return [completeness for _, completeness in list(self._applications.values())]

    @staticmethod
    def _delay_seconds() -> float:
        window_end_ms = read_counts().window_end_ms
        return max(0.0, time.time() - window_end_ms / 1000) if window_end_ms else 0.0


@cache
def detect_metrics() -> DetectMetrics:
    """Return the metrics of this process."""
    metrics = DetectMetrics()
    REGISTRY.register(metrics)
    return metrics


def read_counts() -> ReadCounts:
    """Return the counts of this process's JVM; zeros before the first record, or when the JVM is gone."""
    try:
        from pyflink.java_gateway import get_gateway

        text = get_gateway().jvm.java.lang.System.getProperty(PROPERTY)
    except Exception:  # the JVM is gone: the process ends, and an alert fires on its absence
        return ReadCounts()
    return parse_counts(str(text)) if text else ReadCounts()


def parse_counts(text: str) -> ReadCounts:
    """Parse the text of io.sparkfuse.detect.LiveRowCounters: two numbers, and ``view=rows`` for each view."""
    records, window_end_ms, *views = text.split(" ")
    rows = {view: int(count) for view, _, count in (each.rpartition("=") for each in views)}
    return ReadCounts(int(records), int(window_end_ms), rows)


def _family(metric: Metric, samples: Iterable[tuple[Mapping[str, str], int]]) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric([labels[name] for name in metric.labels], value)
    return family


def _counter(metric: Metric) -> Counter:
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels)


def _gauge(metric: Metric) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels)
