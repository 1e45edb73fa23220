"""Jobs and stages: starts and ends; lists are capped as the plugin caps them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sparkfuse_collectors.facts.record import RESERVED, News, whole_number
from sparkfuse_contracts.generated.fact_pb2 import JobEnded, JobStarted, StageEnded, StageStarted
from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query, shortened

Event = Mapping[str, Any]
SUCCEEDED = "JobSucceeded"
MOST_STAGES = 4096
MOST_PARENTS = 256
MOST_RDDS = 256
MOST_SCOPES = 64
MOST_SCOPE_CHARS = 200
MOST_ACCUMULATORS = 100_000
OUTPUT_ROWS = "number of output rows"
MOST_TAGS = 64
MOST_TAG_CHARS = 256
_CODEGEN_ID = re.compile(r"\s*\(\d+\)$")


def job_started(event: Event) -> News:
    """The fact of a SparkListenerJobStart."""
    job_id, submitted_ms = event["Job ID"], event["Submission Time"]
    properties = event.get("Properties") or {}
    description = properties.get("spark.job.description", properties.get("callSite.short"))
    group, tags = properties.get("spark.jobGroup.id"), properties.get("spark.job.tags")
    message = JobStarted(
        job_id=job_id,
        submitted_ms=submitted_ms,
        stage_ids=stage_ids(event),
        description=None if description is None else scrub_query(description),
        sql_execution_id=sql_execution(properties),
        job_group=None if group is None else scrub(group),
        job_tags=_tags(tags) if tags else (),
    )
    return News(RESERVED, submitted_ms, "job_started", str(job_id), message)


def _tags(tags: str) -> list[str]:
    parts = tags.split(",", MOST_TAGS)[:MOST_TAGS]
    return [scrub(tag) for tag in parts if tag and len(tag) <= MOST_TAG_CHARS]


def stage_ids(event: Event) -> list[int]:
    """The stages that a job may run."""
    infos = event.get("Stage Infos")
    ids: Iterable[int] = event.get("Stage IDs", ()) if infos is None else (info["Stage ID"] for info in infos)
    return list(ids)[:MOST_STAGES]


def depths(event: Event) -> dict[int, int | None]:
    """How deep each stage of a job lies: the longest chain of stages behind it; None where old logs do not say it."""
    infos = {info["Stage ID"]: info.get("Parent IDs") or () for info in (event.get("Stage Infos") or ())[:MOST_STAGES]}
    found: dict[int, int | None] = dict.fromkeys(stage_ids(event))
    for stage in sorted(infos):  # Spark numbers parents before their children
        found[stage] = 1 + max((found.get(parent) or 0 for parent in infos[stage] if parent in infos), default=-1)
    return found


def job_ended(event: Event) -> News:
    """The fact of a SparkListenerJobEnd."""
    job_id, completed_ms, result = event["Job ID"], event["Completion Time"], event.get("Job Result") or {}
    succeeded = result.get("Result") == SUCCEEDED
    failure = None if succeeded else str((result.get("Exception") or {}).get("Message"))
    message = JobEnded(
        job_id=job_id,
        completed_ms=completed_ms,
        succeeded=succeeded,
        failure_reason=None if failure is None else scrub(failure),
    )
    return News(RESERVED, completed_ms, "job_ended", str(job_id), message)


def stage_started(event: Event, job_id: int | None, depth: int | None) -> News:
    """The fact of a SparkListenerStageSubmitted.

    ``job_id`` is the first running job that uses the stage, ``depth`` how deep it lies there.
    """
    stage = event["Stage Info"]
    submitted_ms = stage["Submission Time"]
    message = StageStarted(
        stage_id=stage["Stage ID"],
        stage_attempt=stage.get("Stage Attempt ID", 0),
        name=scrub(stage["Stage Name"]),
        num_tasks=stage["Number of Tasks"],
        parent_stage_ids=(stage.get("Parent IDs") or ())[:MOST_PARENTS],
        scope_names=scopes(stage),
        submitted_ms=submitted_ms,
        job_id=job_id,
        sql_execution_id=sql_execution(event.get("Properties") or {}),
        resource_profile_id=stage.get("Resource Profile Id"),
        depth=depth,
    )
    return News(RESERVED, submitted_ms, "stage_started", _own(message), message)


def stage_ended(event: Event) -> News:
    """The fact of a SparkListenerStageCompleted."""
    stage = event["Stage Info"]
    completed_ms, failure = stage["Completion Time"], stage.get("Failure Reason")
    message = StageEnded(
        stage_id=stage["Stage ID"],
        stage_attempt=stage.get("Stage Attempt ID", 0),
        num_tasks=stage["Number of Tasks"],
        submitted_ms=stage.get("Submission Time"),
        completed_ms=completed_ms,
        succeeded=failure is None,
        failure_reason=None if failure is None else scrub(failure),
        operator_rows_max=_most_output_rows(stage),
    )
    return News(RESERVED, completed_ms, "stage_ended", _own(message), message)


def _most_output_rows(stage: Event) -> int | None:
    """The greatest of the accumulators that count an operator's output; None without any."""
    told = (stage.get("Accumulables") or ())[:MOST_ACCUMULATORS]
    rows = [whole_number(each.get("Value")) for each in told if each.get("Name") == OUTPUT_ROWS]
    return max((each for each in rows if each and 0 < each < 2**63), default=None)


def sql_execution(properties: Event) -> int | None:
    """The SQL execution that a job or stage belongs to, by its local properties."""
    try:
        return int(properties["spark.sql.execution.id"])
    except (KeyError, TypeError, ValueError):  # set by someone else, or not at all
        return None


def scopes(stage: Event) -> list[str]:
    """Names of the scopes (operators) of a stage's RDDs, each once, without the numbers of code generation."""
    names: dict[str, None] = {}
    for rdd in (stage.get("RDD Info") or ())[:MOST_RDDS]:
        name = _scope_name(rdd.get("Scope"))
        if name is not None and len(names) < MOST_SCOPES:
            names[shortened(_CODEGEN_ID.sub("", name), MOST_SCOPE_CHARS)] = None
    return [scrub_query(name) for name in names]


def _scope_name(scope: str | None) -> str | None:
    """A scope is a JSON object within a JSON string."""
    if not scope:
        return None
    try:
        found = json.loads(scope)["name"]
    except (KeyError, TypeError, ValueError):  # a scope that is no JSON is no reason to lose the stage
        return None
    return found if isinstance(found, str) else None


def _own(stage: StageStarted | StageEnded) -> str:
    return f"{stage.stage_id}|{stage.stage_attempt}"
