"""What earlier runs say about a run beyond its expected duration: similar runs, and whether the level has changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sparkfuse_rules.knowledge.level_changes import level_changes
from sparkfuse_rules.knowledge.levels import MIN_SHIFT, WINDOWS, Level, Residual, changed_level
from sparkfuse_rules.knowledge.robust import MAX_MS, median

if TYPE_CHECKING:
    from sparkfuse_rules.knowledge.baseline_model import Sample

# A run is similar to an earlier one if it is slower by at most this many scales, which is the usual difference between
# two runs of one mode.
SIMILAR_SCALES = 2.0
DAY_MS = 24 * 3_600_000
MONTH_MS = 30 * DAY_MS
# A level that lasts is reported again after a week, unless it has risen: half a day earlier, because a daily run may
# start a little earlier than a week ago.
REPORT_AGAIN_MS = 7 * DAY_MS - DAY_MS // 2
# If the job has had fewer runs since then, they say nothing new.
REPORT_AGAIN_RUNS = 4


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The residuals of earlier runs, on the log scale: the duration relative to the expected one for its work.

    ``slow`` are those above the p95, ``margin`` is the difference up to which two durations are similar, ``span_ms``
    the time between the first and the last run, and ``now_ms`` the start of the run that is compared. ``reference`` and
    ``later`` are ordered by time; ``later`` are the runs that are no reference.
    """

    slow: tuple[float, ...]
    margin: float
    span_ms: int
    now_ms: int
    reference: tuple[Residual, ...]
    later: tuple[Residual, ...]
    base: float  # the median of the reference runs
    level: Level | None
    samples: tuple[Sample, ...] = ()  # only if the newest runs are slow, because fits are cached

    def similar_runs(self, residual: float) -> int:
        """Return how many earlier runs were about as slow as a run with this residual, or slower."""
        return sum(each >= residual - self.margin for each in self.slow)

    def level_with(self, wall: float, cpu: float | None) -> Level | None:
        """Return the level of the newest runs and of this run; None if this run is not on the level."""
        if not self.later or wall - self.base < MIN_SHIFT / 2:
            return None
        now = Residual(self.later[-1].at_ms, wall, cpu)
        level = changed_level(self.reference, (*self.later, now)) or self.level
        return level if level is not None and wall - self.base >= level.shift / 2 else None

    def columns(
        self, expected_ms: int, elapsed_ms: int | None, expected_cpu_ms: int | None, cpu_ms: int | None
    ) -> dict[str, Any]:
        """Return the columns of stage_live and app_live that compare a run with single earlier runs."""
        columns: dict[str, Any] = {"baseline_span_ms": self.span_ms}
        if elapsed_ms is None:
            return columns
        wall = _residual(elapsed_ms, expected_ms)
        columns["similar_runs"] = self.similar_runs(wall)
        cpu = None if expected_cpu_ms is None or cpu_ms is None else _residual(cpu_ms, expected_cpu_ms)
        level = self.level_with(wall, cpu)
        return columns if level is None else columns | self._level_columns(level, expected_ms)

    def _level_columns(self, level: Level, expected_ms: int) -> dict[str, Any]:
        lost_ms = min(MAX_MS, round(expected_ms * math.exp(self.base) * math.expm1(level.shift)))
        changes = {"level_changes": level_changes(self.samples, level.since_ms)} if self.samples else {}
        sudden = {} if level.sudden is None else {"level_sudden": level.sudden}
        return (
            changes
            | sudden
            | {
                "level_ratio": math.exp(level.shift),
                "level_since_ms": level.since_ms,
                "level_runs": level.runs,
                "level_due": self.due(level, self.now_ms),
                "level_lost_ms": lost_ms,
                "level_lost_month_ms": min(MAX_MS, round(lost_ms * self._runs_per_month())),
            }
        )

    def due(self, level: Level, started_ms: int) -> bool:
        """Return whether the run reports the level: no recent run reported one that is about as high."""
        since_ms = started_ms - REPORT_AGAIN_MS
        recent = [each for place, each in enumerate(reversed(self.later), 1)
                  if each.at_ms > since_ms or place <= REPORT_AGAIN_RUNS]  # fmt: skip
        return all(each.reported is None or level.shift - each.reported >= MIN_SHIFT for each in recent)

    def _runs_per_month(self) -> float:
        newest = self.later[-WINDOWS[-1] :]
        if len(newest) < 2:
            return 1.0
        gaps = [after.at_ms - before.at_ms for before, after in pairwise(newest)]
        return MONTH_MS / max(60_000.0, median(gaps))


def _residual(milliseconds: int, expected_ms: int) -> float:
    return math.log(max(1, milliseconds) / max(1, expected_ms))


def history_of(
    reference: Sequence[Residual], others: Sequence[Residual], p95: float, scale: float, span_ms: int, now_ms: int
) -> RunHistory:
    """Return the history of a baseline from the residuals of its reference runs and its other runs, ordered by time.

    ``p95`` is the residual of the p95, ``span_ms`` the time between the first and the last known run, and ``now_ms``
    the start of the run that is compared with them.
    """
    later = tuple(each for each in others if not reference or each.at_ms >= reference[0].at_ms)
    return RunHistory(
        slow=tuple(each.wall for each in (*reference, *others) if each.wall > p95),
        margin=SIMILAR_SCALES * scale,
        span_ms=span_ms,
        now_ms=now_ms,
        reference=tuple(reference),
        later=later,
        base=median([each.wall for each in reference]) if reference else 0.0,
        level=changed_level(reference, later),
    )
