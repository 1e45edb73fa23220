"""The names and help texts of all metrics of the pipeline; alerts, dashboards and code use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One metric: its kind, its help text and its labels; each label has few values."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


RECORDS_READ = Metric("sparkfuse_records_read_total", "counter", "Records read from Kafka.", ("component", "topic"))
DEAD_LETTERS = Metric(
    "sparkfuse_dead_letters_total", "counter", "Records written to the dead letters.", ("component", "topic")
)
CONSUMER_LAG = Metric(
    "sparkfuse_consumer_lag_records", "gauge", "Records that were not read yet.", ("component", "topic")
)
KAFKA_ERRORS = Metric(
    "sparkfuse_kafka_errors_total", "counter", "Errors that the Kafka client reported.", ("component",)
)
RESTARTS = Metric("sparkfuse_process_restarts_total", "counter", "Restarts by the supervisor.", ("process",))

TICKS_SENT = Metric("sparkfuse_ticks_sent_total", "counter", "Ticks sent to close windows of idle partitions.")
SOURCE_UP = Metric(
    "sparkfuse_source_up",
    "gauge",
    "Whether the Kafka cluster of the source accepted the last ticks (1) or not (0).",
    ("source",),
)
LIVE_ROWS = Metric("sparkfuse_live_rows_total", "counter", "Live rows processed.", ("view",))
ROWS_TO_PYTHON = Metric(
    "sparkfuse_rows_to_python_total", "counter", "Live rows that the detect job passed to its Python steps.", ("view",)
)
WINDOW_DELAY = Metric("sparkfuse_window_delay_seconds", "gauge", "Seconds since the end of the last processed window.")
QUERIES_DROPPED = Metric(
    "sparkfuse_queries_dropped_total", "counter", "Queries dropped because an application had too many open ones."
)
COMPLETENESS = Metric("sparkfuse_completeness_ratio", "gauge", "Lowest completeness of the running applications.")
APPLICATIONS = Metric("sparkfuse_running_applications", "gauge", "Running applications.")

FINDINGS = Metric("sparkfuse_findings_total", "counter", "Findings by new state.", ("rule", "severity", "state"))

ROWS_STORED = Metric("sparkfuse_rows_stored_total", "counter", "Rows written to the store.", ("table",))
STORE_ERRORS = Metric("sparkfuse_store_errors_total", "counter", "Batches that the store rejected.", ("table",))
BATCH_SECONDS = Metric("sparkfuse_store_batch_seconds", "histogram", "Seconds to decode and store a batch.", ("table",))
STORE_QUERIES = Metric("sparkfuse_store_queries_total", "counter", "Queries to the store by outcome.", ("outcome",))

ALERTS_SENT = Metric(
    "sparkfuse_alerts_sent_total", "counter", "Findings by outcome: sent, replaced, expired or refused.", ("outcome",)
)
ALERTS_DEMOTED = Metric(
    "sparkfuse_alerts_demoted_total",
    "counter",
    "Findings that were sent as info because too few findings of their rule were useful.",
    (),
)
PAGES = Metric(
    "sparkfuse_pages_total",
    "counter",
    "Critical findings by outcome: paged, or held_back because the team's pages of the day were used up.",
    ("outcome",),
)
ALERT_DELAY = Metric(
    "sparkfuse_alert_delay_seconds",
    "histogram",
    "Seconds from the end of the evidence's window until Alertmanager accepted the alert.",
)
ALERTMANAGER_UP = Metric(
    "sparkfuse_alertmanager_up", "gauge", "Whether the peer accepted the last alerts (1) or not (0).", ("peer",)
)
ALERTMANAGER_REQUESTS = Metric(
    "sparkfuse_alertmanager_requests_total",
    "counter",
    "Requests to Alertmanager by HTTP status, or failed.",
    ("peer", "code"),
)

FUSE_STEPS = Metric(
    "sparkfuse_fuse_steps_total",
    "counter",
    "Audit records of the fuse controller.",
    ("rule", "mode", "step", "gate", "outcome"),
)
SIGNALS_SENT = Metric("sparkfuse_signals_sent_total", "counter", "Signed signals sent.", ("rule", "action", "probe"))
FUSE_READY = Metric(
    "sparkfuse_fuse_ready", "gauge", "Whether the fuse controller has read all topics to their ends (1)."
)
FUSE_CLOCK_SKEW = Metric(
    "sparkfuse_fuse_clock_skew_seconds", "gauge", "Clock of the fuse controller minus the clock of the broker."
)
FUSE_POLICY_VALID = Metric(
    "sparkfuse_fuse_policy_valid",
    "gauge",
    "Whether sparkfuse.yaml is valid (1); otherwise every rule is in shadow mode.",
)
FUSE_BIG_PICTURE = Metric(
    "sparkfuse_fuse_big_picture",
    "gauge",
    "Whether nothing is stopped because too many applications are affected at once (1).",
    ("cluster",),
)
FUSE_UNVERIFIED_CONTROLS = Metric(
    "sparkfuse_fuse_unverified_controls", "gauge", "Records of the topic controls that cannot be verified."
)
ACTUATOR_READY = Metric(
    "sparkfuse_fuse_actuator_ready",
    "gauge",
    "Whether the external actuator reads signals and its cluster manager answers (1).",
)
ACTUATOR_OUTCOMES = Metric(
    "sparkfuse_fuse_actuator_outcomes_total",
    "counter",
    "Receipts of the external actuator by outcome.",
    ("rule", "outcome", "gate", "probe"),
)
ACTUATOR_UNVERIFIED = Metric(
    "sparkfuse_fuse_actuator_unverified_total", "counter", "Signals that the external actuator could not verify."
)

FACTS_SHIPPED = Metric("sparkfuse_ship_facts_total", "counter", "Facts that were sent and committed.")
HISTORY_SHIPPED = Metric("sparkfuse_ship_history_rows_total", "counter", "Rows of history that were sent.")
LOGS_FOLLOWED = Metric("sparkfuse_ship_logs", "gauge", "Event logs by state.", ("state",))
SHIP_BEHIND_BYTES = Metric("sparkfuse_ship_behind_bytes", "gauge", "Bytes of event logs that were not read yet.")
SHIP_BEHIND_SECONDS = Metric(
    "sparkfuse_ship_behind_seconds", "gauge", "Longest time in seconds for which a log has had unread bytes."
)
SHIP_MALFORMED = Metric("sparkfuse_ship_malformed_lines_total", "counter", "Malformed lines of event logs.")
SHIP_PROBLEMS = Metric(
    "sparkfuse_ship_problems_total",
    "counter",
    "Problems by kind: logs that were quarantined, rewritten, unreadable, deleted before they were read or had a gap, "
    "histories that did not update baselines, records that Kafka rejected.",
    ("kind",),
)
SHIP_SCAN_SECONDS = Metric("sparkfuse_ship_scan_seconds", "histogram", "Seconds to scan all folders.")

CANARY_PROBES = Metric(
    "sparkfuse_canary_probes_total", "counter", "Probes of the canary application by outcome.", ("outcome",)
)
CANARY_DELAY = Metric(
    "sparkfuse_canary_delay_seconds", "histogram", "Seconds from a fact of the canary application to its finding."
)

PODS_WATCHED = Metric("sparkfuse_pods_watched", "gauge", "Pods of Spark that the pod watcher knows.")
POD_FACTS = Metric("sparkfuse_pod_facts_total", "counter", "Facts about pods by outcome: sent or lost.", ("outcome",))
KUBERNETES_REQUESTS = Metric(
    "sparkfuse_kubernetes_requests_total",
    "counter",
    "Lists and watches at the API server of Kubernetes by outcome: answered, expired or failed.",
    ("objects", "outcome"),
)

ALL: Mapping[str, Metric] = MappingProxyType(
    {value.name: value for value in list(globals().values()) if isinstance(value, Metric)}
)
