"""Classifies failed tasks, and emits rows of ``job_live`` for failed jobs and queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparkfuse_contracts.generated.fact_pb2 import JobEnded
from sparkfuse_contracts.generated.limits import MOST_STAGES
from sparkfuse_contracts.generated.live_pb2 import FailureLive, JobLive, LiveRow
from sparkfuse_rules.knowledge.application_end import error_that_ends_driver
from sparkfuse_rules.knowledge.failures import (
    CANCELLED,
    FAILED,
    QUERY_FAILED,
    Failure,
    as_harmful,
    classify,
    ended_on_purpose,
)
from sparkfuse_rules.knowledge.first_cause import first_cause
from sparkfuse_rules.knowledge.job_failures import failed_stage_of_job, failure_of_job
from sparkfuse_stream_jobs.detect.display_names import query_description, stage_name
from sparkfuse_stream_jobs.detect.queries import MAX_TEXT, put_query, query_of
from sparkfuse_stream_jobs.detect.state.run_state import (
    JobState,
    QueryState,
    RunState,
    StageState,
    add_count,
    application_of,
    started_stage,
)

JOB_LIVE = "job_live"
# Maximum numbers per application: jobs that are stored at the same time, and stages of one job that are searched for
# the first failure.
MAX_JOBS, MAX_STAGES_OF_JOB = 10_000, MOST_STAGES


def classify_failure_row(row: LiveRow, state: RunState) -> None:
    """Add to a row of failed tasks the kind of the failure, the advice on retries, and the first cause.

    An error that ended the JVM of the driver is stored for the jobs that end because of it.
    """
    failure, application = row.failure, application_of(state)
    error = error_that_ends_driver(failure.executor_id, failure.failure_class, failure.failure_reason)
    if error and error != application.ended_driver:
        state.application.update(replace(application, ended_driver=error))
    _fill_failure(failure, classify(failure.failure_class, failure.failure_reason), failure.failure_reason)


def add_job(row: LiveRow, state: RunState) -> None:
    """Store a job that started."""
    started, application = row.job_started, application_of(state)
    if application.jobs >= MAX_JOBS:
        return
    submitted_ms = started.submitted_ms if started.HasField("submitted_ms") else None
    known = state.jobs.get(str(started.job_id))
    stages = tuple(started.stage_ids[:MAX_STAGES_OF_JOB])
    query_id = started.sql_execution_id if started.HasField("sql_execution_id") else None
    state.jobs.put(str(started.job_id), JobState(started.description[:MAX_TEXT], submitted_ms, stages, query_id))
    if known is None:
        add_count(state, "jobs", 1)
    if query_id is not None:
        # Within a window the starts of jobs come before the starts of their queries.
        put_query(query_id, replace(query_of(query_id, state) or QueryState(), last_job_id=started.job_id), state)


def job_end_rows(row: LiveRow, state: RunState) -> Iterator[LiveRow]:
    """Return the row of a job that did not succeed, and the row of its failed query if that row waited for the job.

    The job is dropped from the state.
    """
    ended, name = row.job_ended, str(row.job_ended.job_id)
    job = state.jobs.get(name)
    if job is not None:
        state.jobs.remove(name)
        add_count(state, "jobs", -1)
    query_id = job.sql_execution_id if job else None
    if ended.HasField("succeeded") and not ended.succeeded:
        job_row = row_like(row, JOB_LIVE)
        _fill_job(job_row, ended, job or JobState(), state)
        if job_row.job.status == FAILED:
            _mark_failure_reported(query_id, state)
        yield job_row
    query = query_of(query_id, state)
    if query_id is not None and query and query.failure_reason and query.last_job_id == ended.job_id:
        yield from _failed_query(row, query_id, query, state)


def query_end_rows(row: LiveRow, state: RunState) -> Iterator[LiveRow]:
    """Return the row of a query that failed although none of its jobs failed.

    If a job of the query still runs, the row is emitted at the end of that job. A query that fails before its first
    job has no row, because programs also query tables that may not exist, and continue after the error.
    """
    ended, query_id = row.sql_ended, row.sql_ended.sql_execution_id
    query = query_of(query_id, state)
    if not ended.failure_reason or query is None or query.last_job_id is None:
        return
    ended_ms = ended.ended_ms if ended.HasField("ended_ms") else None
    query = replace(query, failure_reason=ended.failure_reason[:MAX_TEXT], ended_ms=ended_ms)
    put_query(query_id, query, state)
    # Within a window the ends of queries come before the ends of their jobs.
    if state.jobs.get(str(query.last_job_id)) is None:
        yield from _failed_query(row, query_id, query, state)


def unreported_query_rows(row: LiveRow, state: RunState) -> Iterator[LiveRow]:
    """Return the rows of failed queries whose last job never ended; call it at the end of the application.

    A job never ends if the driver dies.
    """
    failed = [(int(name), query) for name, query in state.queries.items() if query.failure_reason]
    for query_id, _ in sorted(failed, key=lambda each: (each[1].ended_ms or 0, each[0])):
        # The query is read again, because the row of an earlier query may have reported its failure already.
        if query := query_of(query_id, state):
            yield from _failed_query(row, query_id, query, state)


def row_like(row: LiveRow, view: str) -> LiveRow:
    """Return an empty row of another view with the application and the window of ``row``."""
    copy = LiveRow()
    copy.CopyFrom(row)
    copy.ClearField(row.WhichOneof("row"))
    copy.view = view
    return copy


def _failed_query(row: LiveRow, query_id: int, query: QueryState, state: RunState) -> Iterator[LiveRow]:
    """Return the row of a failed query, unless its failure was reported or the query was cancelled."""
    root, failure = query_of(query.root_id, state), classify(None, query.failure_reason)
    reported = query.failure_reported or (root and root.failure_reported)
    if query.last_job_id is None or reported or ended_on_purpose(failure):
        return
    _mark_failure_reported(query_id, state)
    query_row = row_like(row, JOB_LIVE)
    job = query_row.job
    job.job_id, job.status, job.failure_reason = query.last_job_id, QUERY_FAILED, query.failure_reason
    _fill_failure(job, as_harmful(failure), query.failure_reason)
    if description := query_description(query.description, query_id, state):
        job.description = description
    if query.started_ms is not None and query.ended_ms is not None:
        job.elapsed_ms = max(0, query.ended_ms - query.started_ms)
    yield query_row


def _mark_failure_reported(query_id: int | None, state: RunState) -> None:
    """Record that a failure of the query has a row, so that neither the query nor its root gets another."""
    query = query_of(query_id, state)
    if query is None:
        return
    for each in {query_id, query.root_id}:
        if related := query_of(each, state):
            state.queries.put(str(each), replace(related, failure_reported=True))


def _fill_job(job_row: LiveRow, ended: JobEnded, job: JobState, state: RunState) -> None:
    columns, failed = job_row.job, _first_failed(job, state)
    error = application_of(state).ended_driver
    of_stage = (failed[1].failure_reason if failed else None) or ""
    reason, failure = failure_of_job(ended.failure_reason, of_stage, [error] if error else [])
    columns.job_id = ended.job_id
    columns.status = CANCELLED if ended_on_purpose(failure) else FAILED
    _fill_failure(columns, as_harmful(failure) if columns.status == FAILED else failure, reason)
    if reason:
        columns.failure_reason = reason
    if description := query_description(job.description, job.sql_execution_id, state) or _last_stage_name(job, state):
        columns.description = description
    if job.submitted_ms is not None and ended.HasField("completed_ms"):
        columns.elapsed_ms = max(0, ended.completed_ms - job.submitted_ms)
    stage_id = failed_stage_of_job(failed[0] if failed else None, reason)
    if columns.status == FAILED and stage_id is not None:
        columns.failed_stage_id = stage_id


def _last_stage_name(job: JobState, state: RunState) -> str:
    """Return the name of the job's last started stage, for a job that has neither a description nor a query."""
    started = (each for each in sorted(job.stage_ids, reverse=True) if started_stage(each, state))
    return next((stage_name(stage_id, state) for stage_id in started), "")


def _first_failed(job: JobState, state: RunState) -> tuple[int, StageState] | None:
    """Return the stage of the job that failed first and did not succeed later; None if there is none."""
    stages = ((stage_id, state.stages.get(str(stage_id))) for stage_id in job.stage_ids)
    failed = [(stage_id, stage) for stage_id, stage in stages if stage and stage.failed]
    return min(failed, key=lambda each: (each[1].failed_ms, each[0]), default=None)


def _fill_failure(columns: FailureLive | JobLive, failure: Failure, text: str) -> None:
    columns.failure_kind, columns.failure, columns.retry = failure.kind, failure.reason, failure.retry
    if cause := first_cause(text):
        columns.first_cause = cause
