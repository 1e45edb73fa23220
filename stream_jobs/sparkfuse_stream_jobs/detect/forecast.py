"""Projects stages from their progress, and forecasts applications from earlier runs, stages and deadline."""

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
from sparkfuse_stream_jobs.detect.row_columns import Columns
from sparkfuse_stream_jobs.detect.state.run_state import RunState, StageProgress, application_of

FROM_SETTING, FROM_HISTORY = "setting", "history"
# If an executor was added within this time, the application will soon have more slots, so no stage is projected.
SETTLED_MS = 60_000


def project_stage(row: LiveRow, state: RunState) -> None:
    """Add the projected duration, and the duration that is compared with the baseline, to the row of a stage."""
    stage = row.stage
    if not stage.HasField("elapsed_ms"):
        return
    stage.judged_ms, application = stage.elapsed_ms, application_of(state)
    settled = row.window_end_ms >= application.executor_joined_at_ms + SETTLED_MS
    remaining = stage_remaining(Columns(stage), application.slots) if settled else None
    if remaining is None:
        return
    stage.projected_ms = stage.elapsed_ms + remaining.ms
    stage.projected_p95_ms = stage.elapsed_ms + remaining.p95_ms
    stage.judged_ms = max(stage.elapsed_ms, stage.projected_ms)
    _store_progress(row.window_end_ms, remaining, state)


def fill_progress(row: LiveRow, state: RunState) -> None:
    """Add the deadline, and the remaining time of the stages of this window, to the application's row.

    Within a window, the rows of the stages come before the application's row. ``forecast_application`` adds the columns
    that depend on earlier runs.
    """
    application, columns = application_of(state), row.application
    if application.deadline_ms is not None:
        columns.deadline_ms, columns.deadline_source = application.deadline_ms, FROM_SETTING
    progress = state.progress.value()
    if progress is not None and progress.window_end_ms == row.window_end_ms and columns.status == RUNNING:
        columns.remaining_ms, columns.remaining_p95_ms = progress.remaining_ms, progress.remaining_p95_ms


def forecast_application(row: LiveRow) -> LiveRow:
    """Add the remaining time, and the time left until the deadline, to the application's row.

    The row already has the columns of ``fill_progress`` and of its baseline. If no deadline is configured, the deadline
    is the 95th percentile of earlier runs. An application that ended has no remaining time.
    """
    columns = row.application
    expected = Expected(columns.expected_ms, columns.expected_p95_ms) if columns.HasField("expected_p95_ms") else None
    if not columns.HasField("deadline_ms") and expected:
        columns.deadline_ms, columns.deadline_source = row.app_start_ms + expected.p95_ms, FROM_HISTORY
    if columns.status != RUNNING or not columns.HasField("elapsed_ms"):
        return row
    stages = Remaining(columns.remaining_ms, columns.remaining_p95_ms) if columns.HasField("remaining_ms") else None
    if remaining := application_remaining(columns.elapsed_ms, expected, stages):
        columns.remaining_ms, columns.remaining_p95_ms = remaining.ms, remaining.p95_ms
    if columns.HasField("deadline_ms"):
        _fill_deadline(row, columns, lambda limit_ms: late_chance(columns.elapsed_ms, limit_ms, expected, stages))
    return row


def _fill_deadline(row: LiveRow, columns: AppLive, chance: Callable[[int], float | None]) -> None:
    # The start is a time of the application's clock, while elapsed time is counted in windows.
    columns.deadline_left_ms = columns.deadline_ms - row.app_start_ms - columns.elapsed_ms
    if (late := chance(columns.deadline_ms - row.app_start_ms)) is not None:
        columns.late_chance = late


def _store_progress(window_end_ms: int, remaining: Remaining, state: RunState) -> None:
    """Store the longest remaining time of the window.

    This time is a lower bound, because stages may run one after another.
    """
    before = state.progress.value()
    if before is not None and before.window_end_ms == window_end_ms:
        remaining = Remaining(max(before.remaining_ms, remaining.ms), max(before.remaining_p95_ms, remaining.p95_ms))
    state.progress.update(StageProgress(window_end_ms, remaining.ms, remaining.p95_ms))
