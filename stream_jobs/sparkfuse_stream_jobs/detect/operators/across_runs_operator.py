"""Adds expected values from earlier runs to the rows of a job, and emits rows about the hosts of a cluster."""

# Flink defines the names, the signatures and the contracts of the methods.
# ruff: noqa: D102

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.generated.stage_expectation_pb2 import StageExpectation
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.knowledge.hosts import HostObservations
from sparkfuse_rules.prices import read_prices
from sparkfuse_stream_jobs.detect import baselines, hosts, reported_costs, stage_bounds
from sparkfuse_stream_jobs.detect.baseline_bootstrap import BASELINE_TTL, BaselineFollower
from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters
from sparkfuse_stream_jobs.detect.finding_costs import fill_application_cost
from sparkfuse_stream_jobs.detect.forecast import forecast_application
from sparkfuse_stream_jobs.detect.operators.invalid_values import usable
from sparkfuse_stream_jobs.detect.operators.records import (
    BASELINE,
    NAME,
    PASSED,
    ROW,
    STAGE,
    host_report_codec,
    join_records,
    read_stage,
    split_record,
)
from sparkfuse_stream_jobs.detect.stage_expectations import PublishedExpectations, StageContext, expectation_of
from sparkfuse_stream_jobs.detect.state.codec import message_codec, record_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory

# A host without a report for a week is dropped.
HOSTS_TTL = timedelta(days=7)
# The kinds of records that AcrossRuns emits.
ROWS_RECORD, BASELINE_RECORD, NAME_RECORD, BOUNDS_RECORD = "rows", "baseline", "name", "bounds"
EXPECTATION_RECORD = "expectation"
log = logging.getLogger(__name__)


@dataclass
class _Outputs:
    """What one batch results in: rows and baselines, and by application names, expectations and bounds of stages.

    A batch may contain several samples of one stage: only the last baseline is published.
    """

    rows: list[bytes] = field(default_factory=list)
    learned: dict[str, Baseline] = field(default_factory=dict)
    names: dict[str, list[bytes]] = field(default_factory=dict)
    expectations: dict[str, list[bytes]] = field(default_factory=dict)
    bounds: dict[str, list[bytes]] = field(default_factory=dict)


class AcrossRuns(KeyedProcessFunction):
    """A Flink operator: batches of kind and content, by job or cluster -> rows, baselines, names and records of stages.

    The records of stages are their bounds, which the JVM reads, and their expectations, which the store gets.
    Stores the data that is kept after a run ends: the baselines of a job, the costs that its runs reported, and the
    observations on a cluster's hosts.
    Jobs and clusters share one operator, because a separate operator for hosts would receive every row and use only a
    few.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._prices = settings, read_prices(settings.config_file)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._scope, self._letters = KeyScope(), DeadLetters(self._settings, runtime_context)
        # Only the first subtask of the home cluster's job removes old records of the topic. One subtask is enough,
        # because each subtask reads all partitions.
        cleans = runtime_context.get_index_of_this_subtask() == 0 and not self._settings.source
        self._published = BaselineFollower(self._settings, cleans=cleans)
        self._host_reports = host_report_codec()
        self._timers: set[tuple[str, int]] = set()
        self._expectations = PublishedExpectations()
        of_job = StateFactory(runtime_context, self._scope, "job", BASELINE_TTL)
        # Baselines are not cached, because running stages request fits, and fits have a separate cache.
        stored = of_job.map_state("baselines", message_codec(Baseline), cached=False)
        self._baselines = baselines.JobBaselines(stored, self._published)
        self._reported = of_job.map_state("reported_costs", record_codec(reported_costs.ReportedCost))
        of_hosts = StateFactory(runtime_context, self._scope, "hosts", HOSTS_TTL)
        self._hosts = hosts.ClusterState(
            observations=of_hosts.map_state("met", record_codec(HostObservations)),
            due=of_hosts.value_state("news", record_codec(hosts.DueHosts)),
        )

    def close(self) -> None:
        self._published.close()
        self._letters.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        outputs = _Outputs()
        with self._scope.enter(ctx.get_current_key()):
            for part in split_record(value):
                self._process(part[:1], part[1:], outputs, ctx)
        if outputs.rows:
            yield Row(ROWS_RECORD, None, None, join_records(outputs.rows))
        for baseline in outputs.learned.values():
            records = (self._published_record(each) for each in [baseline])
            yield from usable(records, self._letters, baseline.SerializeToString())
        of_applications = {
            BOUNDS_RECORD: outputs.bounds, NAME_RECORD: outputs.names, EXPECTATION_RECORD: outputs.expectations
        }  # fmt: skip
        for kind, of_application in of_applications.items():
            for application, several in of_application.items():
                yield Row(kind, application, None, join_records(several))

    def _process(self, kind: bytes, content: bytes, outputs: _Outputs, ctx: KeyedProcessFunction.Context) -> None:
        if kind == PASSED:
            outputs.rows.append(content)
        elif kind == STAGE:
            outputs.rows.append(self._stage(content, outputs))
        elif kind == ROW:
            outputs.rows.append(self._with_expectations(LiveRow.FromString(content), content).SerializeToString())
        elif kind == BASELINE:
            updates = (self._learn(each) for each in [Baseline.FromString(content)])
            for baseline in usable(updates, self._letters, content):
                outputs.learned[baseline.stage_fingerprint] = baseline
        elif kind == NAME:
            outputs.names.setdefault(DisplayName.FromString(content).app_id, []).append(content)
        else:
            self._add_host_report(content, ctx)

    def _add_host_report(self, content: bytes, ctx: KeyedProcessFunction.Context) -> None:
        for timer in hosts.add_report(self._host_reports.decode(content), self._hosts):
            self._set_timer(timer.at_ms, ctx)

    def _set_timer(self, at_ms: int, ctx: KeyedProcessFunction.Context) -> None:
        # All applications of a cluster request timers for the same few times, and each request is a call to the JVM.
        timer = (self._scope.key, at_ms)
        if timer not in self._timers:
            self._timers.add(timer)
            ctx.timer_service().register_event_time_timer(at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            key = self._scope.key
            self._timers = {(each, at_ms) for each, at_ms in self._timers if each != key or at_ms > timestamp}
            rows = [row.SerializeToString() for row in usable(hosts.due_rows(timestamp, self._hosts), self._letters)]
        if rows:
            yield Row(ROWS_RECORD, None, None, join_records(rows))

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

    def _stage(self, message: bytes, outputs: _Outputs) -> bytes:
        """Return the row of a stage with its expected values, and add its bounds and expectation to ``outputs``."""
        content, context = read_stage(message)
        row = self._with_expectations(LiveRow.FromString(content), content)
        fits = (self._baselines.fit(baselines.key_of_row(each), baselines.started_ms(each)) for each in [row])
        for fitted in usable(fits, self._letters, content):
            if found := stage_bounds.bounds_of(row, context.unprojected_tasks, fitted):
                application = stage_bounds.application_key(row)
                outputs.bounds.setdefault(application, []).append(stage_bounds.encode(found))
        if self._expectations.is_due(row, context):
            records = (self._expectation(each, context) for each in [row])
            for record in usable(records, self._letters, content):
                outputs.expectations.setdefault(record.app_id, []).append(record.SerializeToString())
        return row.SerializeToString()

    def _expectation(self, row: LiveRow, context: StageContext) -> StageExpectation:
        of_run = None
        if not row.HasField("run_deadline_ms"):
            of_run = self._baselines.fit(baselines.key_of_run(row), row.app_start_ms)
        return expectation_of(row, context, self._prices, of_run)

    def _with_expectations(self, row: LiveRow, content: bytes) -> LiveRow:
        if row.HasField("query"):
            return reported_costs.fill_due(row, self._reported)
        # If the expectation cannot be computed, other rules may still match on the row.
        expected = (baselines.add_expectations(each, self._baselines) for each in [row])
        row = next(usable(expected, self._letters, content), row)
        if row.HasField("application"):
            row = next(usable((forecast_application(each) for each in [row]), self._letters, content), row)
            row = fill_application_cost(row, self._prices)
        return row
