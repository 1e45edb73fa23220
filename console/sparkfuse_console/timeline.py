"""Computes the timeline of a run: one bar for each stage attempt; a template draws it as SVG."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sparkfuse_native_analytics.queries import Stage

WIDTH, ROW_HEIGHT, AXIS_HEIGHT, LABEL_WIDTH = 1000, 18, 20, 260
"""Units of the drawing."""
MOST_STAGES = 40
LABEL_LENGTH = 38
"""Characters; longer names are cut, and the title of the bar has the whole name."""
LEAST_WIDTH = 2.0


@dataclasses.dataclass(frozen=True)
class Span:
    """The bar of one stage attempt; all lengths are in units of the drawing."""

    stage: Stage
    label: str
    x: float
    y: int
    width: float
    expected_x: float | None
    """Where the stage was expected to end; None if it has no expected duration, or was expected to end later."""


@dataclasses.dataclass(frozen=True)
class Timeline:
    """Stage attempts in the order in which they were submitted.

    ``hidden`` shorter attempts are left out. ``run_ms`` is the duration at the right end of the axis.
    """

    spans: Sequence[Span]
    run_ms: int
    hidden: int
    height: int
    left: int = LABEL_WIDTH
    width: int = WIDTH
    bar_height: int = ROW_HEIGHT - 4


def timeline(stages: Sequence[tuple[Stage, float | None]], run_start_ms: int, run_end_ms: int) -> Timeline | None:
    """Return the timeline of stages with their expected durations in ms; None if no stage has a known time.

    The axis covers the run, and also stages that, by clocks that differ, lie outside of it. At most 40 stage attempts
    are shown: those that took longest.
    """
    known = [(each, usual) for each, usual in stages if each.submitted_ms is not None and each.elapsed_ms is not None]
    if not known:
        return None
    longest = sorted(known, key=lambda pair: -(pair[0].elapsed_ms or 0))[:MOST_STAGES]
    shown = sorted(longest, key=lambda pair: (pair[0].submitted_ms or 0, pair[0].stage_id, pair[0].stage_attempt))
    start_ms = min(run_start_ms, shown[0][0].submitted_ms or 0)
    end_ms = max(run_end_ms, *((each.submitted_ms or 0) + (each.elapsed_ms or 0) for each, _ in shown))
    scale = (WIDTH - LABEL_WIDTH) / max(1, end_ms - start_ms)
    return Timeline(
        spans=[_span(each, usual, number, start_ms, scale) for number, (each, usual) in enumerate(shown)],
        run_ms=end_ms - start_ms,
        hidden=len(known) - len(shown),
        height=AXIS_HEIGHT + ROW_HEIGHT * len(shown),
    )


def _span(stage: Stage, usual_ms: float | None, number: int, start_ms: int, scale: float) -> Span:
    elapsed_ms = stage.elapsed_ms or 0
    name = stage.stage_name or stage.name or f"stage {stage.stage_id}"
    x = LABEL_WIDTH + scale * ((stage.submitted_ms or 0) - start_ms)
    return Span(
        stage=stage,
        label=name if len(name) <= LABEL_LENGTH else f"{name[: LABEL_LENGTH - 1]}…",
        x=round(min(x, WIDTH - LEAST_WIDTH), 1),
        y=AXIS_HEIGHT + ROW_HEIGHT * number,
        width=round(max(LEAST_WIDTH, scale * elapsed_ms), 1),
        expected_x=round(x + scale * usual_ms, 1) if usual_ms is not None and usual_ms < elapsed_ms else None,
    )
