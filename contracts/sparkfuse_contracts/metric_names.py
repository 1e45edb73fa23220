"""Every metric of the pipeline in one list, so that alerts, dashboards and code cannot drift apart.

A counter's name ends with ``_total``, as prometheus-client writes it; a process exposes those it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One metric: its kind, what it says, and its labels, whose values are few and known."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


RECORDS_READ = Metric("sparkfuse_records_read_total", "counter", "Records read from Kafka.", ("component", "topic"))
DEAD_LETTERS = Metric("sparkfuse_dead_letters_total", "counter", "Records that were set aside.", ("component", "topic"))
CONSUMER_LAG = Metric("sparkfuse_consumer_lag_records", "gauge", "Records not yet read.", ("component", "topic"))
KAFKA_ERRORS = Metric(
    "sparkfuse_kafka_errors_total", "counter", "Errors that the Kafka client reported.", ("component",)
)
RESTARTS = Metric("sparkfuse_process_restarts_total", "counter", "Restarts by the supervisor.", ("process",))

TICKS_SENT = Metric("sparkfuse_ticks_sent_total", "counter", "Ticks that keep the windows closing.")
LIVE_ROWS = Metric("sparkfuse_live_rows_total", "counter", "Live rows seen.", ("view",))
WINDOW_DELAY = Metric("sparkfuse_window_delay_seconds", "gauge", "Now minus the end of the last window that was seen.")
QUERIES_DROPPED = Metric(
    "sparkfuse_queries_dropped_total", "counter", "Queries dropped because an application had too many open ones."
)
COMPLETENESS = Metric("sparkfuse_completeness_ratio", "gauge", "Lowest completeness of the running applications.")
APPLICATIONS = Metric("sparkfuse_running_applications", "gauge", "Applications that run.")

FINDINGS = Metric(
    "sparkfuse_findings_total", "counter", "Findings by what became of them.", ("rule", "severity", "state")
)
FINDINGS_FIRING = Metric("sparkfuse_findings_firing", "gauge", "Findings that fire.", ("rule", "severity"))

ROWS_STORED = Metric("sparkfuse_rows_stored_total", "counter", "Rows put into the store.", ("table",))
STORE_ERRORS = Metric("sparkfuse_store_errors_total", "counter", "Batches that the store refused.", ("table",))
BATCH_SECONDS = Metric("sparkfuse_store_batch_seconds", "histogram", "Time to decode and store a batch.", ("table",))
STORE_QUERIES = Metric("sparkfuse_store_queries_total", "counter", "Queries that the store answered.", ("outcome",))

ALERTS_SENT = Metric("sparkfuse_alerts_sent_total", "counter", "Alerts given to Alertmanager.", ("outcome",))
ALERT_DELAY = Metric("sparkfuse_alert_delay_seconds", "histogram", "Evidence's window end until Alertmanager took it.")
ALERTMANAGER_UP = Metric("sparkfuse_alertmanager_up", "gauge", "Whether the peer took the last alerts.", ("peer",))
ALERTMANAGER_REQUESTS = Metric(
    "sparkfuse_alertmanager_requests_total", "counter", "Requests to Alertmanager by answer.", ("peer", "code")
)

FUSE_STEPS = Metric("sparkfuse_fuse_steps_total", "counter", "Steps of the fuse.", ("rule", "mode", "outcome"))
SIGNALS_SENT = Metric("sparkfuse_signals_sent_total", "counter", "Signed signals sent.", ("rule", "action"))

FACTS_SHIPPED = Metric("sparkfuse_ship_facts_total", "counter", "Facts that were sent and committed.")
HISTORY_SHIPPED = Metric("sparkfuse_ship_history_rows_total", "counter", "Rows of history that were sent.")
LOGS_FOLLOWED = Metric("sparkfuse_ship_logs", "gauge", "Event logs by state.", ("state",))
SHIP_BEHIND_BYTES = Metric("sparkfuse_ship_behind_bytes", "gauge", "Bytes of event logs that were not read yet.")
SHIP_BEHIND_SECONDS = Metric(
    "sparkfuse_ship_behind_seconds", "gauge", "Seconds for which the log that waits longest has had unread bytes."
)
SHIP_MALFORMED = Metric("sparkfuse_ship_malformed_lines_total", "counter", "Malformed lines of event logs.")
SHIP_PROBLEMS = Metric(
    "sparkfuse_ship_problems_total",
    "counter",
    "Problems by kind: logs that were quarantined, rewritten, unreadable, deleted before they were read or had a gap, "
    "histories that did not update baselines, records that Kafka rejected.",
    ("kind",),
)
SHIP_SCAN_SECONDS = Metric("sparkfuse_ship_scan_seconds", "histogram", "Time of a scan of all folders.")

ALL: Mapping[str, Metric] = MappingProxyType(
    {value.name: value for value in list(globals().values()) if isinstance(value, Metric)}
)
