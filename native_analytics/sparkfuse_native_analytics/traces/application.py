"""Reads from the store those parts of an application that its trace shows."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries import Finding, RunDetails, findings, run
from sparkfuse_native_analytics.queries.select import select

# Maximum number of tasks in a trace: more tasks would hide where the time went, and backends cannot handle millions of
# spans.
SLOW_TASKS = 50
# A task is slow if it took more than SLOW_RATIO times the median of its stage, and at least SLOW_LEAST_MS.
SLOW_RATIO = 2.0
SLOW_LEAST_MS = 1000
MOST_FINDINGS = 200


@dataclass(frozen=True)
class Job:
    """One Spark job."""

    job_id: int
    submitted_ms: int | None
    completed_ms: int | None
    succeeded: bool | None
    description: str | None
    failure_reason: str | None


@dataclass(frozen=True)
class SlowTask:
    """One task attempt that took much longer than the median of its stage attempt."""

    stage_id: int
    stage_attempt: int
    task_id: int
    task_index: int | None
    executor_id: str | None
    host: str | None
    outcome: str | None
    launched_ms: int
    finished_ms: int
    median_ms: float


@dataclass(frozen=True)
class Application:
    """One application attempt, with the jobs, stages, slow tasks and findings that its trace shows."""

    details: RunDetails
    jobs: list[Job]
    slow_tasks: list[SlowTask]
    findings: list[Finding]


_OF_APPLICATION = (
    "app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}"
)
_JOBS = f"""
SELECT coalesce(job_started_job_id, job_ended_job_id, 0) AS job_id,
       max(job_started_submitted_ms) AS submitted_ms, max(job_ended_completed_ms) AS completed_ms,
       max(job_ended_succeeded) AS succeeded, any(job_started_description) AS description,
       any(job_ended_failure_reason) AS failure_reason
FROM live WHERE {_OF_APPLICATION} AND row IN ('job_started', 'job_ended')
GROUP BY job_id ORDER BY job_id
"""
_SLOW_TASKS = f"""
SELECT assumeNotNull(task_ended_stage_id) AS stage_id, assumeNotNull(task_ended_stage_attempt) AS stage_attempt,
       assumeNotNull(task_ended_task_id) AS task_id, task_ended_task_index AS task_index,
       task_ended_executor_id AS executor_id, task_ended_host AS host, task_ended_outcome AS outcome,
       assumeNotNull(task_ended_launched_ms) AS launched_ms, assumeNotNull(task_ended_finished_ms) AS finished_ms,
       median(task_ended_duration_ms) OVER (PARTITION BY task_ended_stage_id, task_ended_stage_attempt) AS median_ms
FROM facts FINAL
WHERE {_OF_APPLICATION} AND kind = 'task_ended' AND task_ended_launched_ms IS NOT NULL
  AND task_ended_finished_ms IS NOT NULL
QUALIFY finished_ms - launched_ms >= {{least_ms:Int64}} AND finished_ms - launched_ms >= {{ratio:Float64}} * median_ms
ORDER BY finished_ms - launched_ms DESC, task_id
LIMIT {{most:UInt32}}
"""


def read_application(client: Client, app_id: str) -> Application | None:
    """Return the latest attempt of an application; None if the store does not have it."""
    details = run(client, app_id)
    if details is None:
        return None
    place = {"app_id": app_id, "app_start_ms": details.run.app_start_ms, "app_attempt": details.run.app_attempt}
    slow = {"least_ms": SLOW_LEAST_MS, "ratio": SLOW_RATIO, "most": SLOW_TASKS}
    return Application(
        details=details,
        jobs=select(client, Job, _JOBS, place),
        slow_tasks=select(client, SlowTask, _SLOW_TASKS, {**place, **slow}),
        findings=findings(client, MOST_FINDINGS, app_id=app_id),
    )
