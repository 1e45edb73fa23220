"""Adds to each row its job, run and stage fingerprint, and other columns that depend on earlier rows of the run.

One application attempt is one key, and its rows arrive in the order in which the windows job numbered them. The step
also emits rows for failed jobs, failed queries and lost executors, and the training samples of a run that succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge.allocation import driver_memory_mib, executor_memory_mib
from sparkfuse_rules.knowledge.deadline import SETTING, DeadlineError, deadline_ms
from sparkfuse_rules.knowledge.identity import identify
from sparkfuse_rules.knowledge.long_lived import serves_queries
from sparkfuse_stream_jobs.detect import (
    allocated,
    display_names,
    executions,
    failure_rows,
    forecast,
    loss_rows,
    pods,
    queries,
    retention,
    run_samples,
    stage_identity,
)
from sparkfuse_stream_jobs.detect.host_observations import HostReport, host_reports
from sparkfuse_stream_jobs.detect.stage_identity import fingerprint
from sparkfuse_stream_jobs.detect.state.run_state import NO_EPOCH, ApplicationState, RowEpoch, RunState, application_of


@dataclass(frozen=True)
class InvalidSetting:
    """A setting of the application that cannot be used; ``text`` names the setting and the valid values."""

    text: str


Output = LiveRow | Baseline | DisplayName | HostReport | InvalidSetting

_LOSSES: Mapping[str, Callable[[LiveRow, RunState], LiveRow | None]] = {
    "executor_removed": loss_rows.executor_loss_row,
    "pod_changed": pods.change,
}


def is_replayed(row: LiveRow, state: RunState) -> bool:
    """Return whether the row or its window was processed before; otherwise store its epoch and number.

    Rows are ordered by epoch, then by number. A new epoch can begin with windows of the last epoch, because the windows
    job then reads facts again; its rows count from the first window that the last epoch did not reach.
    """
    if not row.HasField("row_seq"):
        return False
    last, number = state.row_epoch.value() or NO_EPOCH, state.last_seq.value()
    if row.row_epoch_ms == last.epoch_ms:
        if number is not None and row.row_seq <= number:
            return True
    elif row.row_epoch_ms < last.epoch_ms or row.window_end_ms <= last.window_end_ms:
        return True
    state.last_seq.update(row.row_seq)
    after = RowEpoch(row.row_epoch_ms, max(row.window_end_ms, last.window_end_ms))
    if after != last:
        state.row_epoch.update(after)
    return False


def step(row: LiveRow, state: RunState) -> Iterator[Output]:
    """Return the row with job, run and stage filled in, followed by the records that result from it.

    The further records are rows of failed jobs, failed queries and lost executors, host reports, and new names of
    queries and stages. After the end of a run, and in a long-lived application after the end of each query, they are
    also training samples. For a row that was processed before, nothing is returned.
    """
    if is_replayed(row, state):
        return
    yield from _add_application(row, state)
    if row.row_seq % retention.REFRESH_EVERY_ROWS == 0:
        retention.refresh(row, state)
    _store(row, state)
    yield from _identify(row, state)
    if row.HasField("application_ended"):
        # The rows of failed queries come before the end of the application, because the end resolves the findings of
        # the run.
        yield from failure_rows.unreported_query_rows(row, state)
    yield row
    yield from host_reports(row, state)
    for derived in _derived_rows(row, state):
        yield derived
        yield from host_reports(derived, state)
    if row.HasField("stage") or row.HasField("application"):
        run_samples.store_sample(row, state)
        if row.HasField("application"):
            yield from executions.learn_ended(row, state)
    elif row.HasField("job_started"):
        yield from executions.learn_ended(row, state)
    elif row.HasField("application_ended"):
        yield from run_samples.samples_of_ended_run(row, state)
        retention.clear_ended(row, state)


def _add_application(row: LiveRow, state: RunState) -> Iterator[InvalidSetting]:
    """Store the application at its start, or at its first row when the start was lost."""
    known = state.application.value()
    if row.HasField("application_started"):
        started = row.application_started
        properties, user = dict(started.properties), started.user_name
        identity = identify(properties, started.name, row.app_id, row.app_attempt, row.app_start_ms, user)
        application = replace(
            known or ApplicationState("", ""),
            job_key=identity.job_key,
            run_key=identity.run_key,
            start_seen=True,
            owner=identity.owner,
            team=identity.team,
            task_cpus=_task_cpus(started.configuration),
            driver_memory_mib=driver_memory_mib(started.configuration),
            executor_memory_mib=executor_memory_mib(started.master, started.configuration),
            refreshed_at_ms=row.window_end_ms,
            long_lived=serves_queries(started.name),
        )
        try:
            application = replace(application, deadline_ms=_deadline_ms(properties, row.app_start_ms))
        except DeadlineError as error:
            yield InvalidSetting(f"{row.app_id} of {identity.job_key}: {error}")
    elif known is None:
        identity = identify({}, row.app_id, row.app_id, row.app_attempt, row.app_start_ms)
        application = ApplicationState(row.app_id, identity.run_key, refreshed_at_ms=row.window_end_ms)
    else:
        return
    state.application.update(application)


def _deadline_ms(properties: dict[str, str], started_ms: int) -> int | None:
    text = properties.get(SETTING, "").strip()
    return deadline_ms(text, started_ms) if text else None


def _task_cpus(configuration: Mapping[str, str]) -> int:
    text = configuration.get("spark.task.cpus", "").strip()
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _store(row: LiveRow, state: RunState) -> None:
    """Store the values of a row that reports a start or an end, before its other columns are filled in."""
    kind = row.WhichOneof("row")
    if kind == "stage_started":
        stage_identity.add_stage(row.stage_started, state)
    elif kind == "sql_started":
        queries.add_query(row.sql_started, state)
    elif kind == "sql_plan":
        queries.add_plan(row.sql_plan, state)
    elif kind == "sql_metrics":
        queries.add_metrics(row.sql_metrics, state)
    elif kind == "stage_ended":
        stage_identity.end_stage(row.stage_ended, state)
    elif kind == "job_started":
        failure_rows.add_job(row, state)
    elif kind == "sql_ended":
        executions.add_query_end(row, state)
    elif kind == "job_ended":
        executions.add_job_end(row, state)
    elif kind == "executor_added":
        loss_rows.add_executor(row, state)
    elif kind == "application" and row.application.ended_ms:
        _store_application_end(row.application.ended_ms, state)


def _store_application_end(ended_ms: int, state: RunState) -> None:
    application = application_of(state)
    if application.ended_ms != ended_ms:
        state.application.update(replace(application, ended_ms=ended_ms))


def _identify(row: LiveRow, state: RunState) -> Iterator[DisplayName]:
    """Fill in the columns that the windows job cannot know, and return the names that are new."""
    application = application_of(state)
    row.job_key, row.run_key = application.job_key, application.run_key
    for tag in ("owner", "team"):
        if value := getattr(application, tag):
            setattr(row, tag, value)
    kind = row.WhichOneof("row")
    allocated.fill_allocation(row, state)
    pods.name_host(row, state)
    if kind == "stage":
        row.stage.stage_fingerprint = fingerprint(row.stage.stage_id, row.stage.name, state)
        yield from display_names.fill_stage(row, state)
        stage_identity.fill_runs_python(row.stage, state)
        forecast.project_stage(row, state)
    elif kind == "task":
        row.task.stage_fingerprint, row.task.stage_name = _stage_of(row.task.stage_id, state)
    elif kind == "failure":
        row.failure.stage_fingerprint, row.failure.stage_name = _stage_of(row.failure.stage_id, state)
        failure_rows.classify_failure_row(row, state)
    elif kind == "application":
        forecast.fill_progress(row, state)
    elif kind == "query":
        yield from display_names.fill_query(row, state)
        queries.fill_operators(row.query, state)
    elif kind == "sql_plan":
        yield from display_names.name_query(row, row.sql_plan.sql_execution_id, state)
    elif kind == "sql_ended":
        yield from display_names.name_stages_of_query(row, row.sql_ended.sql_execution_id, state)
        queries.end_query(row.sql_ended.sql_execution_id, state)


def _stage_of(stage_id: int, state: RunState) -> tuple[str, str]:
    return fingerprint(stage_id, "", state), display_names.stage_name(stage_id, state)


def _derived_rows(row: LiveRow, state: RunState) -> Iterator[LiveRow]:
    """Return the rows that result from an end: of a failed job or query, of a lost executor, or of its pod."""
    if row.HasField("job_ended"):
        yield from failure_rows.job_end_rows(row, state)
    elif row.HasField("sql_ended"):
        yield from failure_rows.query_end_rows(row, state)
    elif (loss_of := _LOSSES.get(row.WhichOneof("row") or "")) and (loss := loss_of(row, state)):
        yield loss
