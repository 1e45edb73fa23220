"""Adds job, fingerprint and names to the rows of one application attempt."""

# Flink defines the names, the signatures and the contracts of the methods.
# ruff: noqa: ARG002, D102

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_rules.knowledge.long_lived import LearnedTemplate
from sparkfuse_stream_jobs.detect import identify, retention
from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters
from sparkfuse_stream_jobs.detect.host_observations import HostReport, merge_reports
from sparkfuse_stream_jobs.detect.operators.invalid_values import parsed, usable
from sparkfuse_stream_jobs.detect.operators.records import (
    BASELINE,
    HOSTS,
    NAME,
    PASSED,
    ROW,
    host_report_codec,
    hosts_state_key,
    job_state_key,
    join_records,
    split_record,
    stage_message,
)
from sparkfuse_stream_jobs.detect.queries import plan_codec, query_of
from sparkfuse_stream_jobs.detect.reported_costs import has_costs
from sparkfuse_stream_jobs.detect.stage_bounds import tasks_without_projection
from sparkfuse_stream_jobs.detect.stage_expectations import StageContext
from sparkfuse_stream_jobs.detect.state import run_state
from sparkfuse_stream_jobs.detect.state.codec import integer_codec, message_codec, record_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory

# The state of a run without rows for a week is dropped.
RUN_TTL = timedelta(days=7)
# Rows that only Identify needs and that it drops.
_ONLY_IDENTIFY = frozenset({
    "application_started", "executor_added", "job_ended", "job_started", "pod_changed", "sql_ended", "sql_metrics",
    "sql_plan", "sql_started", "stage_started",
})  # fmt: skip
log = logging.getLogger(__name__)


class Identify(KeyedProcessFunction):
    """A Flink operator: LiveRows by application attempt -> (key of AcrossRuns, batch of kind and content).

    The key is the job for rows, baselines and names, and the cluster for host reports. ``views`` are the views that
    rules evaluate; rows of queries are dropped if no rule evaluates them.
    """

    def __init__(self, views: frozenset[str], settings: Settings) -> None:
        self._settings = settings
        self._dropped = _ONLY_IDENTIFY if "query_live" in views else _ONLY_IDENTIFY | {"query"}

    def open(self, runtime_context: RuntimeContext) -> None:
        self._scope, self._host_reports = KeyScope(), host_report_codec()
        self._letters = DeadLetters(self._settings, runtime_context)
        factory = StateFactory(runtime_context, self._scope, "run", RUN_TTL)
        self._state = run_state.RunState(
            last_seq=factory.value_state("last_seq", integer_codec()),
            row_epoch=factory.value_state("row_epoch", record_codec(run_state.RowEpoch)),
            application=factory.value_state("application", record_codec(run_state.ApplicationState)),
            stages=factory.map_state("stages", record_codec(run_state.StageState)),
            queries=factory.map_state("plans", record_codec(run_state.QueryState)),
            # Encoded plans are not cached, because decoded plans have a separate cache.
            sql_plans=factory.map_state("plan_versions", plan_codec(), cached=False),
            # Samples are not cached, because they are read once or twice: at the end of their execution, and at the end
            # of the application.
            samples=factory.map_state("samples", message_codec(Baseline), cached=False),
            jobs=factory.map_state("jobs", record_codec(run_state.JobState)),
            executors=factory.map_state("executors", record_codec(run_state.ExecutorState)),
            pods=factory.map_state("pods", record_codec(run_state.PodState)),
            losses=factory.value_state("losses", record_codec(ExecutorLosses)),
            progress=factory.value_state("progress", record_codec(run_state.StageProgress)),
            templates=factory.map_state("templates", record_codec(LearnedTemplate)),
        )

    def close(self) -> None:
        self._letters.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        contents: dict[str, list[bytes]] = {}
        reports: list[HostReport] = []
        names: dict[tuple[str, int], DisplayName] = {}
        with self._scope.enter(ctx.get_current_key()):
            for row in split_record(value):
                for output in usable(self._outputs(row, ctx), self._letters, row):
                    if isinstance(output, HostReport):
                        reports.append(output)
                    elif isinstance(output, DisplayName):
                        # Of several names of one stage or query in a batch, only the last one is published.
                        names[output.kind, output.stage_id if output.kind == "stage" else output.query_id] = output
                    elif (encoded := self._encode(output)) is not None:
                        contents.setdefault(encoded[0], []).append(encoded[1])
        for name in names.values():
            name.updated_ms = time.time_ns() // 1_000_000
            contents.setdefault(job_state_key(name), []).append(NAME + name.SerializeToString())
        for report in merge_reports(reports):
            key = hosts_state_key(report.cluster)
            contents.setdefault(key, []).append(HOSTS + self._host_reports.encode(report))
        for key, batch in contents.items():
            yield Row(key, join_records(batch))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            retention.forget(self._state)
        return iter(())

    def _encode(self, output: LiveRow | Baseline | identify.InvalidSetting) -> tuple[str, bytes] | None:
        """Return key and content for AcrossRuns; None for an output that no later step needs."""
        if isinstance(output, LiveRow):
            if (kind := output.WhichOneof("row")) in self._dropped:
                return None
            content = output.SerializeToString()
            if kind == "stage":
                return job_state_key(output), stage_message(content, self._context(output))
            uses_job = kind == "application" or (kind == "query" and has_costs(output.query))
            return job_state_key(output), (ROW if uses_job else PASSED) + content
        if isinstance(output, Baseline):
            return job_state_key(output), BASELINE + output.SerializeToString()
        log.warning("%s", output.text)
        return None

    def _context(self, row: LiveRow) -> StageContext:
        application = run_state.application_of(self._state)
        query_id = row.stage.sql_execution_id if row.stage.HasField("sql_execution_id") else None
        query = query_of(query_id, self._state)
        name = query.name if query else ""
        return StageContext(tasks_without_projection(application.slots), application.task_cpus, name)

    def _outputs(self, content: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[identify.Output]:
        row = parsed(LiveRow, content)
        if not (row.app_id and row.window_end_ms and row.WhichOneof("row")):
            raise ValueError("a row needs an application, a window and a view")
        yield from identify.step(row, self._state)
        if row.HasField("application_ended"):
            ctx.timer_service().register_event_time_timer(row.window_end_ms + retention.KEPT_AFTER_END_MS)
