"""The steps as Flink operators: their keys, their state and their timers. The logic is in modules of its own."""

# Flink defines the names, the signatures and the contracts of the methods.
# ruff: noqa: ARG002, D102

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_rules.knowledge.hosts import HostObservations
from sparkfuse_rules.owners import read_owners
from sparkfuse_stream_jobs.detect import alerts, baselines, hosts, identify
from sparkfuse_stream_jobs.detect.baseline_bootstrap import BaselineFollower
from sparkfuse_stream_jobs.detect.findings import FindingBuilder
from sparkfuse_stream_jobs.detect.forecast import forecast_application
from sparkfuse_stream_jobs.detect.host_observations import HostReport, merge_reports
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, Timer, subject_codec
from sparkfuse_stream_jobs.detect.metrics import detect_metrics
from sparkfuse_stream_jobs.detect.operator_records import (
    BASELINE,
    HOSTS,
    NAME,
    PASSED,
    ROW,
    host_report_codec,
    join_records,
    split_record,
)
from sparkfuse_stream_jobs.detect.queries import plan_codec
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.rule_sql import post_end_rules, read_severities
from sparkfuse_stream_jobs.detect.state import run_state
from sparkfuse_stream_jobs.detect.state.codec import integer_codec, message_codec, record_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory

# How long state lives after its last write. A run without rows for a week is over. A baseline without a new sample for
# a quarter of a year is dropped. A finding is published for five minutes after it resolved.
RUN_TTL = timedelta(days=7)
BASELINE_TTL = timedelta(days=92)
FINDING_TTL = timedelta(days=7)
# The kinds of records that AcrossRuns emits.
ROWS_RECORD, BASELINE_RECORD, NAME_RECORD = "rows", "baseline", "name"
# Rows that get expectations, and rows that are only needed by Identify and dropped after it.
_WITH_BASELINE = frozenset({"stage", "application"})
_ONLY_IDENTIFY = frozenset({
    "application_started", "executor_added", "job_ended", "job_started", "sql_ended", "sql_plan", "sql_started",
    "stage_started",
})  # fmt: skip
_SEPARATOR = "\x1f"
Result = TypeVar("Result")
Parsed = TypeVar("Parsed", bound=Message)
log = logging.getLogger(__name__)


class Identify(KeyedProcessFunction):
    """Batches of LiveRows by application attempt -> (key of AcrossRuns, batch of kind and content).

    The key is the job for rows, baselines and names, and the cluster for host reports. ``views`` are the views that
    rules evaluate; rows of queries are dropped if no rule does.
    """

    def __init__(self, views: frozenset[str]) -> None:
        self._dropped = _ONLY_IDENTIFY if "query_live" in views else _ONLY_IDENTIFY | {"query"}

    def open(self, runtime_context: RuntimeContext) -> None:
        self._scope, self._metrics, self._host_reports = KeyScope(), detect_metrics(), host_report_codec()
        factory = StateFactory(runtime_context, self._scope, "run", RUN_TTL)
        self._state = run_state.RunState(
            last_seq=factory.value_state("last_seq", integer_codec()),
            application=factory.value_state("application", record_codec(run_state.ApplicationState)),
            stages=factory.map_state("stages", record_codec(run_state.StageState)),
            queries=factory.map_state("plans", record_codec(run_state.QueryState)),
            # Not cached, because decoded plans have a cache of their own.
            sql_plans=factory.map_state("plan_versions", plan_codec(), cached=False),
            # Written at the end of each stage, and read once at the end of the application.
            samples=factory.map_state("samples", message_codec(Baseline), cached=False),
            jobs=factory.map_state("jobs", record_codec(run_state.JobState)),
            executors=factory.map_state("executors", record_codec(run_state.ExecutorState)),
            losses=factory.value_state("losses", record_codec(ExecutorLosses)),
            progress=factory.value_state("progress", record_codec(run_state.StageProgress)),
        )

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        contents: dict[str, list[bytes]] = {}
        reports: list[HostReport] = []
        names: dict[tuple[str, int], DisplayName] = {}
        with self._scope.enter(ctx.get_current_key()):
            for row in split_record(value):
                for output in usable(self._outputs(row)):
                    if isinstance(output, HostReport):
                        reports.append(output)
                    elif isinstance(output, DisplayName):
                        # Of several names of one stage or query in a batch, only the last one is published.
                        names[output.kind, output.stage_id if output.kind == "stage" else output.query_id] = output
                    elif (encoded := self._encode(output)) is not None:
                        contents.setdefault(encoded[0], []).append(encoded[1])
        for name in names.values():
            name.updated_ms = _now_ms()
            contents.setdefault(_job_key(name), []).append(NAME + name.SerializeToString())
        for report in merge_reports(reports):
            key = _SEPARATOR.join(("hosts", report.cluster))
            contents.setdefault(key, []).append(HOSTS + self._host_reports.encode(report))
        for key, batch in contents.items():
            yield Row(key, join_records(batch))

    def _encode(self, output: LiveRow | Baseline | identify.InvalidSetting) -> tuple[str, bytes] | None:
        """Return key and content for AcrossRuns; None for an output that no later step needs."""
        if isinstance(output, LiveRow):
            if (kind := output.WhichOneof("row")) in self._dropped:
                return None
            return _job_key(output), (ROW if kind in _WITH_BASELINE else PASSED) + output.SerializeToString()
        if isinstance(output, Baseline):
            return _job_key(output), BASELINE + output.SerializeToString()
        log.warning("%s", output.text)
        return None

    def _outputs(self, content: bytes) -> Iterator[identify.Output]:
        row = parsed(LiveRow, content)
        self._metrics.observe_row(row)
        yield from identify.step(row, self._state)


class AcrossRuns(KeyedProcessFunction):
    """Batches of kind and content, by job or cluster -> batches of rows for the rules, and baselines and names.

    Stores what outlives a run: the baselines of a job, and the observations on a cluster's hosts. Both share one
    operator, because an operator for the hosts alone would receive every row to find the few that concern it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, runtime_context: RuntimeContext) -> None:
        self._published, self._scope = BaselineFollower(self._settings), KeyScope()
        self._host_reports = host_report_codec()
        self._timers: set[tuple[str, int]] = set()
        of_job = StateFactory(runtime_context, self._scope, "job", BASELINE_TTL)
        # Not cached, because running stages ask for the fits, which have a cache of their own.
        stored = of_job.map_state("baselines", message_codec(Baseline), cached=False)
        self._baselines = baselines.JobBaselines(stored, self._published)
        of_hosts = StateFactory(runtime_context, self._scope, "hosts", RUN_TTL)
        self._hosts = hosts.ClusterState(
            observations=of_hosts.map_state("met", record_codec(HostObservations)),
            due=of_hosts.value_state("news", record_codec(hosts.DueHosts)),
        )

    def close(self) -> None:
        self._published.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        rows: list[bytes] = []
        learned: dict[str, Baseline] = {}
        names: list[bytes] = []
        with self._scope.enter(ctx.get_current_key()):
            for part in split_record(value):
                kind, content = part[:1], part[1:]
                if kind == PASSED:
                    rows.append(content)
                elif kind == ROW:
                    rows.append(self._with_expectations(LiveRow.FromString(content)))
                elif kind == BASELINE:
                    # A batch may hold several samples of one stage: only the last baseline is published.
                    for baseline in usable(self._learn(each) for each in [Baseline.FromString(content)]):
                        learned[baseline.stage_fingerprint] = baseline
                elif kind == NAME:
                    names.append(content)
                else:
                    self._add_host_report(content, ctx)
        if rows:
            yield _rows_record(rows)
        for baseline in learned.values():
            yield from usable(self._published_record(each) for each in [baseline])
        for content in names:
            yield Row(NAME_RECORD, DisplayName.FromString(content).app_id, None, content)

    def _add_host_report(self, content: bytes, ctx: KeyedProcessFunction.Context) -> None:
        for timer in hosts.add_report(self._host_reports.decode(content), self._hosts):
            self._set_timer(timer.at_ms, ctx)

    def _set_timer(self, at_ms: int, ctx: KeyedProcessFunction.Context) -> None:
        # All applications of a cluster request the same few times, and each request is a call to the JVM.
        timer = (self._scope.key, at_ms)
        if timer not in self._timers:
            self._timers.add(timer)
            ctx.timer_service().register_event_time_timer(at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            key = self._scope.key
            self._timers = {(each, at_ms) for each, at_ms in self._timers if each != key or at_ms > timestamp}
            rows = [row.SerializeToString() for row in usable(hosts.due_rows(timestamp, self._hosts))]
        if rows:
            yield _rows_record(rows)

    def _learn(self, update: Baseline) -> Baseline:
        baseline = baselines.learn_sample(update, self._baselines)
        if baseline.HasField("level_changed_ms") and baseline.level_changed_ms == baseline.updated_ms:
            name = baseline.stage_name or baseline.stage_fingerprint
            log.info("%s of %s: the baseline moved to a new level after three runs", name, baseline.job_key)
        return baseline

    def _published_record(self, baseline: Baseline) -> Row:
        key, content = record_key("baselines", baseline), to_json(baseline)
        self._published.add_own_record(content)
        return Row(BASELINE_RECORD, key.decode() if key else None, content.decode(), None)

    def _with_expectations(self, row: LiveRow) -> bytes:
        # If the expectation cannot be computed, other rules may still match on the row.
        row = next(usable(baselines.add_expectations(each, self._baselines) for each in [row]), row)
        if row.HasField("application"):
            row = next(usable(forecast_application(each) for each in [row]), row)
        return row.SerializeToString()


class RunLifecycle(KeyedProcessFunction):
    """Batches by run, each part with severities and LiveRow -> (finding id, Finding of that run)."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        builder = FindingBuilder.of(catalog, settings.runbook_url, read_owners(settings.config_file))
        evaluation = RuleEvaluation(catalog, settings.window_ms, builder)
        self._lifecycle = Lifecycle(evaluation, post_end_rules(catalog))

    def open(self, runtime_context: RuntimeContext) -> None:
        self._scope = KeyScope()
        factory = StateFactory(runtime_context, self._scope, "findings", RUN_TTL)
        self._state = LifecycleState(
            ended_ms=factory.value_state("ended_ms", integer_codec()),
            subject_count=factory.value_state("watched", integer_codec()),
            subjects=factory.map_state("units", subject_codec()),
            timer_ms=factory.value_state("wake_ms", integer_codec()),
        )

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            for part in split_record(value):
                encoded_severities, content = split_record(part)
                row, severities = LiveRow.FromString(content), read_severities(encoded_severities.decode())
                yield from self._emit(usable(self._lifecycle.step(row, severities, self._state)), ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            yield from self._emit(self._lifecycle.on_timer(timestamp, self._state), ctx)

    @staticmethod
    def _emit(outputs: Iterable[Finding | Timer], ctx: Any) -> Iterator[Row]:
        for output in outputs:
            if isinstance(output, Timer):
                ctx.timer_service().register_event_time_timer(output.at_ms)
            else:
                yield Row(output.finding_id, output.SerializeToString())


class Alerts(KeyedProcessFunction):
    """Finding of one run by finding id -> (key, JSON) of the topic ``findings``."""

    def __init__(self, intervals: alerts.PublishIntervals) -> None:
        self._intervals = intervals

    def open(self, runtime_context: RuntimeContext) -> None:
        self._metrics, self._scope = detect_metrics(), KeyScope()
        factory = StateFactory(runtime_context, self._scope, "alert", FINDING_TTL)
        self._group = factory.value_state("alert", record_codec(alerts.FindingGroup))

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        now_ms = _now_ms()
        with self._scope.enter(ctx.get_current_key()):
            known = self._group.value()
            group = alerts.merge(known, Finding.FromString(value), now_ms)
            if group is not None:
                yield from self._publish(group, known, now_ms, ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            group = self._group.value()
            if group is not None:
                yield from self._publish(group, group, _now_ms(), ctx)

    def _publish(
        self, group: alerts.FindingGroup, known: alerts.FindingGroup | None, now_ms: int, ctx: Any
    ) -> Iterator[Row]:
        publication = alerts.next_publication(group, now_ms, self._intervals)
        if publication.group is None:
            self._group.clear()
        elif publication.group != known:
            self._group.update(publication.group)
        if publication.next_check_ms is not None:
            ctx.timer_service().register_processing_time_timer(publication.next_check_ms)
        if publication.record is not None:
            changed = publication.group is not None and publication.group.published != group.published
            self._metrics.count_finding(publication.record, changed)
            yield Row(publication.record.finding_id, to_json(publication.record).decode())


def usable(results: Iterator[Result]) -> Iterator[Result]:
    """Return the results up to the first that fails because of a value; the rest of that row is counted and skipped.

    Otherwise one invalid value would fail the job again after each restart. Errors of other kinds are raised.
    """
    try:
        yield from results
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        detect_metrics().count_rejected(f"{type(error).__name__}: {error}"[:200])


def parsed(message_class: type[Parsed], content: bytes) -> Parsed:
    """Return the message. Raises ValueError for bytes that the JVM accepted as a message and Python does not."""
    try:
        return message_class.FromString(content)
    except DecodeError as error:
        raise ValueError(f"not a {message_class.__name__}: {error}") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _job_key(message: LiveRow | Baseline | DisplayName) -> str:
    """Return the key of the job. All rows of a run have the same key, so they keep their order."""
    return _SEPARATOR.join(baselines.job_of(message))


def _rows_record(rows: list[bytes]) -> Row:
    return Row(ROWS_RECORD, None, None, join_records(rows))
