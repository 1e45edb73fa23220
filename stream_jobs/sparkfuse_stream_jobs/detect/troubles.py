"""Rows about what went wrong: failed tasks are told what they are of, failed jobs, queries and executors get rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sparkfuse_contracts.generated.fact_pb2 import JobEnded
from sparkfuse_contracts.generated.live_pb2 import FailureLive, JobLive, LiveRow
from sparkfuse_rules.knowledge.executor_losses import (
    ExecutorLosses,
    ExecutorRemoval,
    executor_added,
    executor_removed,
    removed_with_application,
)
from sparkfuse_rules.knowledge.failures import (
    CANCELLED,
    FAILED,
    QUERY_FAILED,
    UNKNOWN,
    Failure,
    as_harmful,
    classify,
    ended_on_purpose,
)
from sparkfuse_rules.knowledge.first_cause import first_cause
from sparkfuse_stream_jobs.detect.run_memory import Executor, Job, Memory, Plan, Stage, application_of, count

JOB_LIVE, EXECUTOR_LOSS = "job_live", "executor_loss"
# What is remembered at once of one application; a job's stages are looked through for the one that failed first.
MAX_JOBS, MAX_EXECUTORS, MAX_PLANS, MAX_STAGES_OF_JOB = 10_000, 10_000, 10_000, 1_000
MAX_TEXT = 4_096
MAX_EXIT_CODE = 2**31 - 1
_STAGE_IN_TEXT = re.compile(r"\b(?:[Ss]tage|ResultStage|ShuffleMapStage) (\d{1,9})\b")


def fill_failure(row: LiveRow) -> None:
    """Add to a row of failed tasks what they are of and their first cause."""
    failure = row.failure
    _fill(failure, classify(failure.failure_class, failure.failure_reason), failure.failure_reason)


def remember_job(row: LiveRow, memory: Memory) -> None:
    """Remember a job that started."""
    started, application = row.job_started, application_of(memory)
    if application.jobs >= MAX_JOBS:
        return
    submitted_ms = started.submitted_ms if started.HasField("submitted_ms") else None
    known = memory.jobs.get(str(started.job_id))
    stages = tuple(started.stage_ids[:MAX_STAGES_OF_JOB])
    execution = started.sql_execution_id if started.HasField("sql_execution_id") else None
    memory.jobs.put(str(started.job_id), Job(started.description[:MAX_TEXT], submitted_ms, stages, execution))
    if known is None:
        count(memory, "jobs", 1)
    if execution is not None:
        # Of one window the starts of jobs come before those of the queries that they are of.
        _put_plan(execution, replace(_plan(execution, memory) or Plan(), last_job_id=started.job_id), memory)


def remember_query(row: LiveRow, memory: Memory) -> None:
    """Remember a SQL execution that began."""
    started = row.sql_started
    plan = replace(
        _plan(started.sql_execution_id, memory) or Plan(),
        nodes=tuple(started.plan_nodes),
        description=started.description[:MAX_TEXT],
        started_ms=started.started_ms if started.HasField("started_ms") else None,
        root_id=started.root_execution_id if started.HasField("root_execution_id") else None,
    )
    _put_plan(started.sql_execution_id, plan, memory)


def _put_plan(execution: int, plan: Plan, memory: Memory) -> None:
    """Remember the execution, unless it is one too many."""
    application = application_of(memory)
    if _plan(execution, memory) is None:
        if application.plans >= MAX_PLANS:
            return
        memory.application.put(replace(application, plans=application.plans + 1))
    memory.plans.put(str(execution), plan)


def ended_job(row: LiveRow, memory: Memory) -> Iterator[LiveRow]:
    """The row of a job that ended badly, and that of its query where that waited for it. The job is forgotten."""
    ended, name = row.job_ended, str(row.job_ended.job_id)
    job = memory.jobs.get(name)
    if job is not None:
        memory.jobs.remove(name)
        count(memory, "jobs", -1)
    execution = job.sql_execution_id if job else None
    if ended.HasField("succeeded") and not ended.succeeded:
        made = _row_like(row, JOB_LIVE)
        _fill_job(made, ended, job or Job(), memory)
        if made.job.status == FAILED:
            _note_told(execution, memory)
        yield made
    plan = _plan(execution, memory)
    if execution is not None and plan and plan.failure_reason and plan.last_job_id == ended.job_id:
        yield from _failed_query(row, execution, plan, memory)


def ended_query(row: LiveRow, memory: Memory) -> Iterator[LiveRow]:
    """The row of a SQL query that failed though no job of it did; it waits for the end of a job that still runs.

    A query that fails before it has any job has no row: programs ask for tables that may not be there, and go on.
    """
    ended, execution = row.sql_ended, row.sql_ended.sql_execution_id
    plan = _plan(execution, memory)
    if not ended.failure_reason or plan is None or plan.last_job_id is None:
        return
    ended_ms = ended.ended_ms if ended.HasField("ended_ms") else None
    plan = replace(plan, failure_reason=ended.failure_reason[:MAX_TEXT], ended_ms=ended_ms)
    _put_plan(execution, plan, memory)
    # Of one window the ends of queries come before those of their jobs.
    if memory.jobs.get(str(plan.last_job_id)) is None:
        yield from _failed_query(row, execution, plan, memory)


def queries_left(row: LiveRow, memory: Memory) -> Iterator[LiveRow]:
    """At the end of the application: the rows of failed queries whose last job never ended, as when the driver dies."""
    failed = [(int(name), plan) for name, plan in memory.plans.items() if plan.failure_reason]
    for execution, _ in sorted(failed, key=lambda each: (each[1].ended_ms or 0, each[0])):
        # Looked up again: the one before may have been told for this one, too.
        if plan := _plan(execution, memory):
            yield from _failed_query(row, execution, plan, memory)


def _failed_query(row: LiveRow, execution: int, plan: Plan, memory: Memory) -> Iterator[LiveRow]:
    """The row of a failed query; none where a failure in it has been told, and for what somebody cancelled."""
    root, found = _plan(plan.root_id, memory), classify(None, plan.failure_reason)
    if plan.last_job_id is None or plan.told or (root and root.told) or ended_on_purpose(found):
        return
    _note_told(execution, memory)
    made = _row_like(row, JOB_LIVE)
    told = made.job
    told.job_id, told.status, told.failure_reason = plan.last_job_id, QUERY_FAILED, plan.failure_reason
    _fill(told, as_harmful(found), plan.failure_reason)
    if plan.description:
        told.description = plan.description
    if plan.started_ms is not None and plan.ended_ms is not None:
        told.elapsed_ms = max(0, plan.ended_ms - plan.started_ms)
    yield made


def _plan(execution: int | None, memory: Memory) -> Plan | None:
    return None if execution is None else memory.plans.get(str(execution))


def _note_told(execution: int | None, memory: Memory) -> None:
    """Remember that a failure of the query has been told, so that neither it nor the one around it is told again."""
    plan = _plan(execution, memory)
    if plan is None:
        return
    for name in {execution, plan.root_id}:
        if of_query := _plan(name, memory):
            memory.plans.put(str(name), replace(of_query, told=True))


def remember_executor(row: LiveRow, memory: Memory) -> None:
    """Remember an executor that joined; the driver is none, though in local mode its cores run the tasks."""
    added, application = row.executor_added, application_of(memory)
    known = added.executor_id != "driver" and memory.executors.get(added.executor_id) is not None
    if known or application.executors >= MAX_EXECUTORS:
        return
    joined_at_ms, cores = row.window_end_ms, max(0, added.cores)
    memory.application.put(replace(application, joined_at_ms=joined_at_ms, cores=application.cores + cores))
    if added.executor_id == "driver":
        return
    memory.losses.put(executor_added(memory.losses.get() or ExecutorLosses()))
    added_ms = added.added_ms if added.HasField("added_ms") else None
    memory.executors.put(added.executor_id, Executor(added.host, added_ms, cores))
    count(memory, "executors", 1)


def lost_executor(row: LiveRow, memory: Memory) -> LiveRow | None:
    """The row of an executor that went away; None for one that went because the application is over."""
    removed, application = row.executor_removed, application_of(memory)
    known = memory.executors.get(removed.executor_id)
    if known is not None:
        memory.executors.remove(removed.executor_id)
        count(memory, "executors", -1)
        count(memory, "cores", -known.cores)
    removed_ms = removed.removed_ms or row.window_end_ms
    if application.ended or removed.executor_id == "driver":
        return None
    executor = ExecutorRemoval(
        removed_ms=removed_ms,
        added_ms=known.added_ms if known else None,
        reason=removed.reason or None,
        exit_code=removed.exit_code if removed.HasField("exit_code") else None,
    )
    after, columns = executor_removed(memory.losses.get() or ExecutorLosses(), executor)
    if application.ended_ms and removed_with_application(application.ended_ms, removed_ms, columns["failure"]):
        return None
    memory.losses.put(after)
    made = _row_like(row, EXECUTOR_LOSS)
    columns |= {"executor_id": removed.executor_id, "removed_ms": removed_ms}
    if known and known.host:
        columns["host"] = known.host
    if removed.reason:
        columns["reason"] = removed.reason
    if abs(columns.get("exit_code", 0)) > MAX_EXIT_CODE:  # read from a text that anybody may write
        del columns["exit_code"]
    for column, value in columns.items():
        setattr(made.executor_loss, column, value)
    return made


def _fill_job(made: LiveRow, ended: JobEnded, job: Job, memory: Memory) -> None:
    told, failed = made.job, _first_failed(job, memory)
    reason = ended.failure_reason
    found = classify(None, reason)
    if failed and (not reason.strip() or found == UNKNOWN) and failed[1].failure_reason:
        by_stage = classify(None, failed[1].failure_reason)
        if not reason.strip() or by_stage != UNKNOWN:
            reason, found = failed[1].failure_reason, by_stage
    told.job_id = ended.job_id
    told.status = CANCELLED if ended_on_purpose(found) else FAILED
    _fill(told, as_harmful(found) if told.status == FAILED else found, reason)
    if reason:
        told.failure_reason = reason
    if description := job.description or _last_stage_name(job, memory):
        told.description = description
    if job.submitted_ms is not None and ended.HasField("completed_ms"):
        told.elapsed_ms = max(0, ended.completed_ms - job.submitted_ms)
    if told.status == FAILED and (stage_id := failed[0] if failed else _stage_in(reason)) is not None:
        told.failed_stage_id = stage_id


def _last_stage_name(job: Job, memory: Memory) -> str:
    """The name of the job's last stage that began, which is what Spark's own pages call the job."""
    stages = (memory.stages.get(str(stage_id)) for stage_id in sorted(job.stage_ids, reverse=True))
    return next((stage.name for stage in stages if stage and stage.name), "")


def _first_failed(job: Job, memory: Memory) -> tuple[int, Stage] | None:
    """The stage of the job that failed first and did not end well since."""
    stages = ((stage_id, memory.stages.get(str(stage_id))) for stage_id in job.stage_ids)
    failed = [(stage_id, stage) for stage_id, stage in stages if stage and stage.failed]
    return min(failed, key=lambda each: (each[1].failed_ms, each[0]), default=None)


def _stage_in(text: str) -> int | None:
    found = _STAGE_IN_TEXT.search(text)
    return int(found[1]) if found else None


def _fill(told: FailureLive | JobLive, found: Failure, text: str) -> None:
    told.failure_kind, told.failure, told.retry = found.kind, found.reason, found.retry
    if cause := first_cause(text):
        told.first_cause = cause


def _row_like(row: LiveRow, view: str) -> LiveRow:
    """A row of another view at the same place of the same application."""
    made = LiveRow()
    made.CopyFrom(row)
    made.ClearField(row.WhichOneof("row"))
    made.view = view
    return made
