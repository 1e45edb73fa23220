"""What a row speaks of: the thing within the run that rules hold for, and the scope that stays from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkfuse_contracts.generated.live_pb2 import LiveRow

APPLICATION = "application"
# Rows that say once that something happened: no other row takes it back.
EVENTS = frozenset({"job", "executor_loss"})


def unit_name(row: LiveRow) -> str | None:
    """The thing in its run, for example ``stage/3/0`` or ``task/3/0/77``; None for a row of no view.

    A task that outlived its stage is another thing than it was before: the end of the stage does not end it. All
    failed tasks of a stage attempt are one thing (``part_of_unit`` tells their causes apart), and so are all failed
    jobs of a run: findings know them by nothing else.
    """
    kind = row.WhichOneof("row")
    if kind == "stage":
        return f"stage/{row.stage.stage_id}/{row.stage.stage_attempt}"
    if kind == "task":
        what = "zombie" if row.task.HasField("outlived_ms") else "task"
        return f"{what}/{row.task.stage_id}/{row.task.stage_attempt}/{row.task.task_id}"
    if kind == "failure":
        return f"failure/{row.failure.stage_id}/{row.failure.stage_attempt}"
    if kind == "executor":
        return f"executor/{row.executor.executor_id}"
    if kind == "executor_loss":
        return f"loss/{row.executor_loss.executor_id}"
    if kind == "host":  # hosts of two clusters may have one name
        return f"host/{row.cluster}"
    return {"job": "jobs", "application": APPLICATION}.get(kind or "")


def is_event_unit(name: str) -> bool:
    """Whether the thing of this name is something that happened."""
    return name == "jobs" or name.startswith("loss/")


def part_of_unit(row: LiveRow) -> str:
    """Which of several things that are watched as one the row speaks of: the class of failed tasks; else nothing."""
    return row.failure.failure_class[:100] if row.HasField("failure") else ""


def scope(row: LiveRow) -> str:
    """The same thing as every run of the job has it.

    ``stage:<fingerprint>`` for a stage, its tasks and their failures, ``host:<host>`` for a host, else ``application``.
    """
    kind = row.WhichOneof("row")
    if kind in {"stage", "task", "failure"}:
        return f"stage:{getattr(row, kind).stage_fingerprint}"
    return f"host:{row.host.host}" if kind == "host" else APPLICATION


def ends_units(row: LiveRow) -> bool:
    """Whether the row is the end of a stage or an executor."""
    return bool(_ended_prefixes(row))


def units_that_end(row: LiveRow, names: Iterable[str]) -> Iterator[str]:
    """Which of the things in ``names`` the row ends: a stage with its tasks and failures, or an executor."""
    ended = _ended_prefixes(row)
    yield from [name for name in names if f"{name}/".startswith(ended)]


def _ended_prefixes(row: LiveRow) -> tuple[str, ...]:
    kind = row.WhichOneof("row")
    if kind == "executor_removed":
        return (f"executor/{row.executor_removed.executor_id}/",)
    if kind == "stage_ended":
        ended = f"{row.stage_ended.stage_id}/{row.stage_ended.stage_attempt}/"
    elif kind == "stage" and row.stage.status in ("succeeded", "failed"):
        ended = f"{row.stage.stage_id}/{row.stage.stage_attempt}/"
    else:
        return ()
    return (f"stage/{ended}", f"task/{ended}", f"failure/{ended}")
