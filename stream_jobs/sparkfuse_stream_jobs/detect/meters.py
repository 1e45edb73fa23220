"""The detect job's own metrics, in the process that runs its Python steps."""

from __future__ import annotations

import logging
import time
from functools import cache

from prometheus_client import Counter, Gauge

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.metric_names import Metric

COMPONENT, TOPIC = "detect", "live"
# An application that nothing was heard of for so long is no longer counted as running.
FORGET_MS = 60_000
MAX_REASONS = 100

log = logging.getLogger(__name__)


class Meters:
    """Counts what passes; one for each process, because a metric can be registered only once."""

    def __init__(self) -> None:
        self._read = _counter(metric_names.RECORDS_READ).labels(COMPONENT, TOPIC)
        self._set_aside = _counter(metric_names.DEAD_LETTERS).labels(COMPONENT, TOPIC)
        self._rows = _counter(metric_names.LIVE_ROWS)
        self._findings = _counter(metric_names.FINDINGS)
        self._firing = _gauge(metric_names.FINDINGS_FIRING)
        _gauge(metric_names.WINDOW_DELAY).set_function(self._delay_seconds)
        _gauge(metric_names.APPLICATIONS).set_function(lambda: len(self._running()))
        _gauge(metric_names.COMPLETENESS).set_function(lambda: min(self._running(), default=1.0))
        self._reasons: set[str] = set()
        self._offsets: dict[int, int] = {}
        self._window_end_ms = 0
        self._applications: dict[str, tuple[int, float]] = {}
        self._firing_now: dict[str, tuple[str, str]] = {}

    def record(self, partition: int, offset: int) -> None:
        """A record was read; offsets that are left out were records that could not be decoded."""
        self._read.inc()
        last = self._offsets.get(partition)
        self._offsets[partition] = offset
        if last is not None and offset > last + 1:
            self._set_aside.inc(offset - last - 1)

    def refused(self, reason: str) -> None:
        """A row cannot be used; each reason is logged once, for it may come with every row."""
        self._set_aside.inc()
        if reason not in self._reasons and len(self._reasons) < MAX_REASONS:
            self._reasons.add(reason)
            log.warning("set a row aside: %s; like ones are only counted", reason)

    def row(self, row: LiveRow) -> None:
        """A row of the pipeline's own clock or of an application."""
        self._rows.labels(row.view).inc()
        self._window_end_ms = max(self._window_end_ms, row.window_end_ms)
        if row.HasField("application") and row.application.ended_ms:
            self._applications.pop(row.app_id, None)  # its processes may speak on for a while
        elif row.HasField("application"):
            self._applications[row.app_id] = (row.window_end_ms, row.completeness)
        elif row.HasField("application_ended"):
            self._applications.pop(row.app_id, None)

    def told(self, finding: Finding, news: bool) -> None:
        """A finding was written; ``news`` when it is not the same as the last time."""
        if news:
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
        """Completeness of the applications that were heard of lately."""
        heard_ms = self._window_end_ms - FORGET_MS
        self._applications = {app: seen for app, seen in self._applications.items() if seen[0] >= heard_ms}
        return [completeness for _, completeness in self._applications.values()]

    def _delay_seconds(self) -> float:
        return max(0.0, time.time() - self._window_end_ms / 1000) if self._window_end_ms else 0.0


@cache
def meters() -> Meters:
    """The meters of this process."""
    return Meters()


def _counter(metric: Metric) -> Counter:
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels)


def _gauge(metric: Metric) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels)
