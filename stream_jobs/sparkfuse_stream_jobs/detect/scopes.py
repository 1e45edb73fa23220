"""What a row speaks of: the thing within the run that rules hold for, and the scope that stays from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkfuse_contracts.generated.live_pb2 import LiveRow

APPLICATION = "application"


def unit_name(row: LiveRow) -> str | None:
    """The thing in its run, for example ``stage/3/0`` or ``task/3/0/77``; None for a row of no view."""
    kind = row.WhichOneof("row")
    if kind == "stage":
        return f"stage/{row.stage.stage_id}/{row.stage.stage_attempt}"
    if kind == "task":
        return f"task/{row.task.stage_id}/{row.task.stage_attempt}/{row.task.task_id}"
    if kind == "executor":
        return f"executor/{row.executor.executor_id}"
    return APPLICATION if kind == "application" else None


def scope(row: LiveRow) -> str:
    """The same thing as every run of the job has it: ``stage:<fingerprint>`` for stage and task, or ``application``."""
    kind = row.WhichOneof("row")
    if kind == "stage":
        return f"stage:{row.stage.stage_fingerprint}"
    return f"stage:{row.task.stage_fingerprint}" if kind == "task" else APPLICATION


def ends_units(row: LiveRow) -> bool:
    """Whether the row is the end of a stage or an executor."""
    return bool(_ended_prefixes(row))


def units_that_end(row: LiveRow, names: Iterable[str]) -> Iterator[str]:
    """Which of the things in ``names`` the row ends: a stage with its tasks, or an executor."""
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
    return (f"stage/{ended}", f"task/{ended}")
