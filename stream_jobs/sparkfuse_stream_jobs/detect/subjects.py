"""The subject of a row within its run, and the scope of its findings, which is the same in all runs of the job.

A subject is one query, streaming query, stage, task, executor or host of a run, or its application. Rules are pending
and firing for each subject separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sparkfuse_contracts.generated.live_pb2 import LiveRow

APPLICATION = "application"
# Rows of events: each reports once that something happened, and no later row revokes the event.
EVENT_ROWS = frozenset({"job", "executor_loss"})
_ENDED = ("succeeded", "failed")
# The first word of the subject's name, and the column with its id, by kind of row.
_BY_ID: Mapping[str, tuple[str, str]] = {
    "executor": ("executor", "executor_id"),
    "query": ("query", "query_id"),
    "streaming": ("streaming", "streaming_id"),
    "executor_loss": ("loss", "executor_id"),
}


def subject_name(row: LiveRow) -> str | None:
    """Return the name of the row's subject, such as ``stage/3/0`` or ``task/3/0/77``; None for other rows.

    A task that outlives its stage becomes another subject, so that the end of the stage does not end this subject. All
    failed tasks of a stage attempt are one subject; ``subject_part`` separates the causes of their failures. All failed
    jobs of a run are one subject too, because their findings share an id.
    """
    kind = row.WhichOneof("row")
    if kind == "stage":
        return f"stage/{row.stage.stage_id}/{row.stage.stage_attempt}"
    if kind == "task":
        what = "zombie" if row.task.HasField("outlived_ms") else "task"
        return f"{what}/{row.task.stage_id}/{row.task.stage_attempt}/{row.task.task_id}"
    if kind == "failure":
        return f"failure/{row.failure.stage_id}/{row.failure.stage_attempt}"
    if kind in _BY_ID:
        word, column = _BY_ID[kind]
        return f"{word}/{getattr(getattr(row, kind), column)}"
    if kind == "host":  # two clusters may have hosts of the same name
        return f"host/{row.cluster}"
    return {"job": "jobs", "application": APPLICATION}.get(kind or "")


def is_event_subject(name: str) -> bool:
    """Return whether the subject of this name is an event."""
    return name == "jobs" or name.startswith("loss/")


def subject_part(row: LiveRow) -> str:
    """Return the part of a shared subject that the row describes: the failure class of failed tasks, else ""."""
    return row.failure.failure_class[:100] if row.HasField("failure") else ""


def scope(row: LiveRow) -> str:
    """Return the scope of a finding on the row; the scope is the same in every run of the job.

    ``stage:<fingerprint>`` for a stage, its tasks and their failures, ``streaming:<name>`` for a streaming query,
    ``host:<host>`` for a host, else ``application``.
    """
    kind = row.WhichOneof("row")
    if kind == "streaming":
        return f"streaming:{row.streaming.streaming_name}"
    if kind in {"stage", "task", "failure"}:
        return f"stage:{getattr(row, kind).stage_fingerprint}"
    return f"host:{row.host.host}" if kind == "host" else APPLICATION


def ends_subjects(row: LiveRow) -> bool:
    """Return whether the row is the end of a query, a stage or an executor."""
    return bool(_ended_prefixes(row))


def ended_subjects(row: LiveRow, names: Iterable[str]) -> Iterator[str]:
    """Return the subjects of ``names`` that the row ends: a query, a stage with its tasks, or an executor."""
    ended = _ended_prefixes(row)
    yield from [name for name in names if f"{name}/".startswith(ended)]


def _ended_prefixes(row: LiveRow) -> tuple[str, ...]:
    kind = row.WhichOneof("row")
    if kind == "executor_removed":
        return (f"executor/{row.executor_removed.executor_id}/",)
    if kind == "query":
        return (f"query/{row.query.query_id}/",) if row.query.status in _ENDED else ()
    if kind == "stage_ended":
        ended = f"{row.stage_ended.stage_id}/{row.stage_ended.stage_attempt}/"
    elif kind == "stage" and row.stage.status in _ENDED:
        ended = f"{row.stage.stage_id}/{row.stage.stage_attempt}/"
    else:
        return ()
    return (f"stage/{ended}", f"task/{ended}", f"failure/{ended}")
