"""Computes the bars of a chart of durations; a template draws them as SVG."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sparkfuse_native_analytics.queries import Run

WIDTH, HEIGHT = 800, 180
BOTTOM, LEFT = 16, 70
"""Space for the labels of the axes, in units of the drawing."""
MOST_BAR = 24.0


@dataclasses.dataclass(frozen=True)
class Bar:
    """The bar of one run; all lengths are in units of the drawing."""

    run: Run
    x: float
    y: float
    width: float
    height: float


@dataclasses.dataclass(frozen=True)
class Chart:
    """Durations of runs, from the oldest to the newest.

    ``top_ms`` is the duration at the upper end of the axis; ``expected_y`` is the height of the line of the expected
    duration, None if no duration is expected.
    """

    bars: Sequence[Bar]
    top_ms: int
    expected_y: float | None
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    base: int = HEIGHT - BOTTOM


def durations(runs: Sequence[Run], expected_ms: float | None) -> Chart | None:
    """Return the chart of runs with a known duration; None if there are fewer than two."""
    known = sorted((run for run in runs if run.elapsed_ms is not None), key=lambda run: run.app_start_ms)
    if len(known) < 2:
        return None
    top_ms = max(1, *(run.elapsed_ms or 0 for run in known), round(expected_ms or 0))
    usable, step = HEIGHT - BOTTOM - 4, (WIDTH - LEFT) / len(known)
    width = min(MOST_BAR, step * 0.8)
    bars = [
        Bar(
            run,
            x=round(LEFT + number * step, 1),
            y=round(HEIGHT - BOTTOM - height, 1),
            width=round(width, 1),
            height=round(height, 1),
        )
        for number, run in enumerate(known)
        for height in [max(1.0, usable * (run.elapsed_ms or 0) / top_ms)]
    ]
    line = None if expected_ms is None else round(HEIGHT - BOTTOM - usable * expected_ms / top_ms, 1)
    return Chart(bars, top_ms, line)
