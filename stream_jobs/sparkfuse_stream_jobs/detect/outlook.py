"""What is still to come: of a stage by its progress, of an application by its earlier runs, stages and deadline."""

from __future__ import annotations

from collections.abc import Callable

from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow
from sparkfuse_rules.knowledge.projection import (
    RUNNING,
    Expected,
    Remaining,
    application_remaining,
    late_chance,
    stage_remaining,
)
from sparkfuse_stream_jobs.detect.rows import Columns
from sparkfuse_stream_jobs.detect.run_memory import Memory, Progress, application_of

BY_SETTING, BY_HISTORY = "setting", "history"
# While executors join there will soon be more slots than now: one that joined puts projections off for this long.
SETTLED_MS = 60_000


def project_stage(row: LiveRow, memory: Memory) -> None:
    """Add to the row of a stage how long it will take by its progress, and what of that is judged."""
    stage = row.stage
    if not stage.HasField("elapsed_ms"):
        return
    stage.judged_ms, application = stage.elapsed_ms, application_of(memory)
    settled = row.window_end_ms >= application.joined_at_ms + SETTLED_MS
    slots = application.cores // application.task_cpus
    remaining = stage_remaining(Columns(stage), slots) if settled else None
    if remaining is None:
        return
    stage.projected_ms = stage.elapsed_ms + remaining.ms
    stage.projected_p95_ms = stage.elapsed_ms + remaining.p95_ms
    stage.judged_ms = max(stage.elapsed_ms, stage.projected_ms)
    _remember(row.window_end_ms, remaining, memory)


def tell_progress(row: LiveRow, memory: Memory) -> None:
    """Add to the application's own row its deadline, and how long the stages of this window still take.

    The rows of its stages stand before it. What its earlier runs say is put to it where they are known: ``foresee``.
    """
    application, told = application_of(memory), row.application
    if application.deadline_ms is not None:
        told.deadline_ms, told.deadline_source = application.deadline_ms, BY_SETTING
    progress = memory.progress.get()
    if progress is not None and progress.window_end_ms == row.window_end_ms and told.status == RUNNING:
        told.remaining_ms, told.remaining_p95_ms = progress.remaining_ms, progress.remaining_p95_ms


def foresee(row: LiveRow) -> LiveRow:
    """Add to the application's own row what is left until its deadline, and how long it will still run.

    The row has what ``tell_progress`` and the baseline said. Without a setting the deadline is the bound that 19 of
    20 earlier runs keep; one that ended has nothing left.
    """
    told = row.application
    expected = Expected(told.expected_ms, told.expected_p95_ms) if told.HasField("expected_p95_ms") else None
    if not told.HasField("deadline_ms") and expected:
        told.deadline_ms, told.deadline_source = row.app_start_ms + expected.p95_ms, BY_HISTORY
    if told.status != RUNNING or not told.HasField("elapsed_ms"):
        return row
    stages = Remaining(told.remaining_ms, told.remaining_p95_ms) if told.HasField("remaining_ms") else None
    if remaining := application_remaining(told.elapsed_ms, expected, stages):
        told.remaining_ms, told.remaining_p95_ms = remaining.ms, remaining.p95_ms
    if told.HasField("deadline_ms"):
        _tell_deadline(row, told, lambda limit_ms: late_chance(told.elapsed_ms, limit_ms, expected, stages))
    return row


def _tell_deadline(row: LiveRow, told: AppLive, chance: Callable[[int], float | None]) -> None:
    # The application's own clock is the start's; time passes with the windows.
    told.deadline_left_ms = told.deadline_ms - row.app_start_ms - told.elapsed_ms
    if (late := chance(told.deadline_ms - row.app_start_ms)) is not None:
        told.late_chance = late


def _remember(window_end_ms: int, remaining: Remaining, memory: Memory) -> None:
    """Keep the longest of the window: stages that run side by side end one after the other at the latest then."""
    before = memory.progress.get()
    if before is not None and before.window_end_ms == window_end_ms:
        remaining = Remaining(max(before.remaining_ms, remaining.ms), max(before.remaining_p95_ms, remaining.p95_ms))
    memory.progress.put(Progress(window_end_ms, remaining.ms, remaining.p95_ms))
