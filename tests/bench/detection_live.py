"""Repeats runs of the labelled corpus with the plugin against a whole stack, and measures findings and delays.

The delays of a notification, all measured by the clock of one machine:

- `window`: from the end of the window with the evidence (`evidence_ms`) to the arrival at the webhook;
- `last fact`, `first fact`: from the time at which Kafka appended the last (or first) fact of the application in that
  window (`LogAppendTime`) to the arrival at the webhook. The fact that made the rule match arrived between the first
  and the last fact, so its delay is between their delays.

For this bench every rule that can warn is made critical, because Alertmanager delays a warning by 10 s.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sparkfuse.demo import spark_job
from sparkfuse.stack import stack
from sparkfuse.stack.job_properties import write_job_properties
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse_alertmanager.receiver import Delivery, Receiver
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.finding_pb2 import Finding as PublishedFinding
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import from_json
from sparkfuse_rules.catalog import load_catalog
from tests.bench.bench_detection import Score, analyzed, text_of
from tests.logs.detection_labels import Finding, Label, labels, of_analysis, stage_texts, verdict
from tests.logs.make_detection import RUNS, TABLES, program, use_cores
from tests.logs.make_logs import SETTINGS

WINDOW_MS = 5_000
SETTLE_SECONDS = 12
LONGEST_SECONDS = 600
HISTORY = tuple(name for name in RUNS if name.startswith("history-"))
LIVE = (
    "quiet-1", "noisy-2", "grown", "partitions", "slow-join", "slow-read", "python-does-more", "service-slow",
    "skewed", "straggler", "tasks-fail", "user-error", "spills", "cross-join", "fetch-failed",
    "late-broadcast", "driver-waits",
)  # fmt: skip
PREFIX = "sparkfuse"


@dataclass
class Facts:
    """When [ms] Kafka appended the facts of one application, in ascending order, and when it appended the end fact."""

    appended_ms: list[int] = field(default_factory=list)
    ended_ms: int | None = None

    def within(self, window_end_ms: int) -> Sequence[int]:
        """Return the times of the facts in a window."""
        first, last = (bisect_left(self.appended_ms, window_end_ms - WINDOW_MS),
                       bisect_right(self.appended_ms, window_end_ms))  # fmt: skip
        return self.appended_ms[first:last]


@dataclass(frozen=True)
class Page:
    """One finding that reached the webhook, with its delays [ms]."""

    run: str
    rule: str
    severity: str
    since_window_ms: int
    since_last_fact_ms: int
    since_first_fact_ms: int
    while_running: bool


def live(wanted: Sequence[str]) -> tuple[list[str], str]:
    """Repeat the runs; return lines about the measurement, and the text of the section."""
    chosen = [name for name in LIVE if not wanted or name in wanted]
    with tempfile.TemporaryDirectory(prefix="sparkfuse-bench-") as folder:
        return _measured(Path(folder), [*HISTORY, *chosen] if _needs_history(chosen) else chosen)


def _needs_history(chosen: Sequence[str]) -> bool:
    return any(label.history for label in labels() if label.run in chosen)


def _measured(home: Path, names: Sequence[str]) -> tuple[list[str], str]:
    configuration = home / "sparkfuse.yaml"
    configuration.write_text(critical_rules())
    layout = Layout.from_environment(home / "stack", Ports.free(), {})
    events = {name: home / "events" / name for name in names}
    with (
        Receiver() as receiver,
        stack.running(layout, print_event, receiver.url, {"SPARKFUSE_CONFIG": str(configuration)}) as up,
    ):
        wrong = []
        for name in names:
            wrong += run(name, layout, events[name], up)
            keep_running(up, SETTLE_SECONDS)
        facts, findings = read_topics(layout.kafka_bootstrap)
        deliveries = receiver.deliveries
    apps = {log_of(folder).name.removesuffix(".inprogress"): name for name, folder in events.items()}
    pages = list(_pages(apps, facts, findings, deliveries))
    by_run = {label.run: label for label in labels()}
    verdicts = [
        verdict(by_run[name], _fired(app, findings), stage_texts(log_of(events[name])))
        for app, name in apps.items()
        if name in by_run
    ]
    findings_of = {name: _fired(app, findings) for app, name in apps.items() if name in by_run}
    text = "\n".join(
        (text_of(Score(verdicts)), "", page_table(pages, by_run), "", *compare_with_offline(findings_of, events))
    )
    return [LINE.format(runs=len(names), window=WINDOW_MS // 1000), *wrong], text


LINE = (
    "{runs} runs of Spark 3.5 with the plugin, one after the other, against `sparkfuse up` with windows of {window} s; "
    "every rule that can warn was made critical."
)


def critical_rules() -> str:
    """Return a sparkfuse.yaml in which each rule that can warn is critical.

    Alertmanager delays critical alerts by only 1 s.
    """
    rules = (rule.id for rule in load_catalog().values() if set(rule.severity) & {"warning", "critical"})
    return "rules:\n" + "".join(f"  {rule}: {{severity: {{critical: true}}}}\n" for rule in rules)


def run(name: str, layout: Layout, events: Path, up: Supervisor) -> list[str]:
    """Run one job of the corpus with the plugin; return a sentence if it ended with an unexpected exit code."""
    of = RUNS[name]
    events.mkdir(parents=True)
    script, *arguments = program(name, of, layout.home)
    kept = {key: value for key, value in SETTINGS.items() if not key.startswith("spark.sql.warehouse")}
    settings = {
        **kept, **TABLES, **of.settings,
        "spark.sparkfuse.job": job_of(name),
        "spark.local.dir": str(layout.home / "local"),
        "spark.eventLog.dir": events.as_uri(),
    }  # fmt: skip
    print(f"{name} …", end=" ", flush=True)
    began = time.monotonic()
    properties = write_job_properties(layout, Settings.from_environment(layout.environment()))
    process = spark_job.start(f"job-{name}", Path(script), tuple(arguments), properties, settings, {}, layout.logs)
    with use_cores(of):
        while process.exit_code() is None and time.monotonic() - began < LONGEST_SECONDS:
            up.poll()
            time.sleep(0.2)
    code = process.exit_code()
    process.stop()
    print(f"{time.monotonic() - began:.0f} s, exit code {code}", flush=True)
    if code is not None and bool(code) == of.fails:
        return []
    print(process.last_lines(30), flush=True)
    return [f"`{name}` ended with the unexpected exit code {code}."]


def job_of(name: str) -> str:
    """Return the job of a run: runs that share a history are one job."""
    return "daily_revenue" if RUNS[name].shape and name not in NO_HISTORY else name.replace("-", "_")


NO_HISTORY = {label.run for label in labels() if label.history is None}


def keep_running(up: Supervisor, seconds: float) -> None:
    """Keep the stack running for some time, so that findings about the end of the run are published."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        up.poll()
        time.sleep(0.2)


def print_event(name: str, event: str) -> None:
    """Print an event of the stack."""
    print(f"  {name}: {event}", flush=True)


def read_topics(bootstrap: str) -> tuple[dict[str, Facts], list[PublishedFinding]]:
    """Return the times at which Kafka appended the facts of each application, and all records of findings, in order."""
    facts: dict[str, Facts] = defaultdict(Facts)
    for appended_ms, value in read_topic(bootstrap, topic_name("facts", PREFIX)):
        fact = Fact.FromString(value)
        facts[fact.app_id].appended_ms.append(appended_ms)
        if fact.HasField("application_ended"):
            facts[fact.app_id].ended_ms = appended_ms
    for each in facts.values():
        each.appended_ms.sort()
    findings = [
        from_json(PublishedFinding, value) for _, value in read_topic(bootstrap, topic_name("findings", PREFIX))
    ]
    return facts, sorted(findings, key=lambda each: each.updated_ms)


def read_topic(bootstrap: str, topic: str) -> Iterator[tuple[int, bytes]]:
    """Return the records of a topic, each with the time at which the broker appended it."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": str(uuid.uuid4()), "enable.auto.commit": False, "log_level": 0,
         "isolation.level": "read_committed"}
    )  # fmt: skip
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        for number in partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), 10)
            consumer.assign([TopicPartition(topic, number, low)])
            while consumer.position([TopicPartition(topic, number)])[0].offset < high:
                for message in consumer.consume(5_000, 1.0):
                    if message.value() is not None and not message.error():
                        yield message.timestamp()[1], message.value()
    finally:
        consumer.close()


def _fired(app: str, findings: Sequence[PublishedFinding]) -> list[Finding]:
    """Return the findings that fired for an application."""
    found = {
        (finding.rule, each.severity, each.stage_id if each.HasField("stage_id") else None)
        for finding in findings
        for each in finding.runs
        if each.app_id == app and each.state == "firing"
    }
    return [Finding(*each) for each in sorted(found, key=str)]


def compare_with_offline(live_findings: Mapping[str, Sequence[Finding]], events: Mapping[str, Path]) -> list[str]:
    """Return lines that compare live findings with the findings of the event logs, with the same history."""
    history = [log_of(events[name]) for name in HISTORY if name in events]
    same, lines = 0, []
    for earlier in (True, False):
        names = [name for name in live_findings if (job_of(name) == job_of("history-1")) == earlier]
        analyses = analyzed([log_of(events[name]) for name in names], history if earlier else [])
        for name, analysis in zip(names, analyses, strict=True):
            offline, live_places = _places(of_analysis(analysis)), _places(live_findings[name])
            same += len(offline & live_places)
            lines += [f"- `{name}`: {place} only live." for place in sorted(live_places - offline)]
            lines += [f"- `{name}`: {place} only offline." for place in sorted(offline - live_places)]
    return [
        f"The same runs evaluated offline, from their event logs: {same} findings at the same places as live, and:",
        *lines,
    ]


def _places(findings: Sequence[Finding]) -> set[str]:
    return {each.rule + ("" if each.stage_id is None else f" at stage {each.stage_id}") for each in findings}


def _pages(
    apps: Mapping[str, str],
    facts: Mapping[str, Facts],
    findings: Sequence[PublishedFinding],
    deliveries: Sequence[Delivery],
) -> Iterator[Page]:
    """Return the first notification about each finding of each run."""
    seen: set[tuple[str, str]] = set()
    for finding in findings:
        for each in finding.runs:
            key = (each.app_id, finding.finding_id)
            if finding.state != "firing" or each.state != "firing" or each.app_id not in apps or key in seen:
                continue
            seen.add(key)
            arrived_ms = _arrived(finding, deliveries)
            window = facts[each.app_id].within(finding.evidence_ms)
            if arrived_ms is None:
                continue
            ended_ms = facts[each.app_id].ended_ms
            first, last = (window[0], window[-1]) if window else (finding.evidence_ms, finding.evidence_ms)
            yield Page(
                apps[each.app_id], finding.rule, each.severity, arrived_ms - finding.evidence_ms, arrived_ms - last,
                arrived_ms - first, ended_ms is None or arrived_ms <= ended_ms,
            )  # fmt: skip


def _arrived(finding: PublishedFinding, deliveries: Sequence[Delivery]) -> int | None:
    """Return the time at which the webhook received the first notification of a firing finding."""
    for delivery in deliveries:
        received_ms = delivery.received_ms
        for alert in delivery.payload["alerts"]:
            names = alert["labels"]
            same = (names["rule"], names["job_key"], names["scope"]) == (finding.rule, finding.job_key, finding.scope)
            if same and alert["status"] == "firing" and received_ms >= finding.evidence_ms:
                return received_ms
    return None


def page_table(pages: Sequence[Page], by_run: Mapping[str, Label]) -> str:
    """Return a table of all notifications, and the quantiles of the delays of the critical ones."""
    lines = ["| run | page | while running | since the window | since its last fact | since its first fact |",
             "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for page in pages:
        delays = (page.since_window_ms, page.since_last_fact_ms, page.since_first_fact_ms)
        row = " | ".join(f"{delay / 1000:.1f} s" for delay in delays)
        yes = "yes" if page.while_running else "no"
        lines.append(f"| `{page.run}` | `{page.rule}` ({page.severity}) | {yes} | {row} |")
    critical = [page for page in pages if page.severity == "critical"]
    if len(critical) > 1:
        lines += ["", "| critical pages, delay | p50 | p95 | slowest |", "| --- | --- | --- | --- |"]
        for title, delays_ms in (
            ("since the end of the window", [page.since_window_ms for page in critical]),
            ("since its last fact", [page.since_last_fact_ms for page in critical]),
            ("since its first fact", [page.since_first_fact_ms for page in critical]),
        ):
            ranks = statistics.quantiles(delays_ms, n=20, method="inclusive")
            figures = (statistics.median(delays_ms), ranks[-1], max(delays_ms))
            lines.append(f"| {title} | " + " | ".join(f"{figure / 1000:.1f} s" for figure in figures) + " |")
    unknown = sorted({page.run for page in pages} - set(by_run))
    return "\n".join([*lines, *(f"- a run of the history, `{name}`, had a page." for name in unknown)])


def log_of(folder: Path) -> Path:
    """Return the event log of a run; Spark names the log after the application."""
    (log,) = (path for path in folder.iterdir() if not path.name.startswith("."))
    return log
