"""Model the driver's idle time: how long an application normally runs no job, relative to the rest of its time.

``(between + floor) / (rest + floor)`` is modelled on the log scale by its median and p95. The rest is all other time:
the time of jobs, and the time before the first job. The model is relative, because busy hosts and more rows make both
parts longer, and only the driver's own idle time remains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, spread

# Planning, listing and committing of a small job; smaller differences are noise.
FLOOR_MS = 2000.0


@dataclass(frozen=True)
class DriverIdle:
    """The model from earlier runs: p95 of the ratio, and the usual duration without idle time in ms."""

    share_p95: float
    usual_rest_ms: float

    def bound_ms(self, elapsed_ms: int, between_ms: int) -> int:
        """Return the p95 of the idle time in ms for a run with this duration and idle time, both in ms.

        At least the usual duration without idle time is assumed: a running application may be idle before its jobs.
        """
        rest = max(float(elapsed_ms - between_ms), self.usual_rest_ms)
        return min(MAX_MS, max(0, math.ceil(self.share_p95 * (rest + FLOOR_MS) - FLOOR_MS)))


def fit_driver_idle(times: Sequence[tuple[int, int]], least_scale: float) -> DriverIdle | None:
    """Fit the model to (duration, time between jobs) of earlier runs, in ms; None without runs.

    ``least_scale`` is the smallest difference of two healthy runs, on the log scale.
    """
    if not times:
        return None
    # A negative time, or a part above the whole, comes from a clock that was changed.
    valid = [(max(0, elapsed), min(max(0, between), max(0, elapsed))) for elapsed, between in times]
    shares = [_log_share(elapsed, between) for elapsed, between in valid]
    bound = median(shares) + prediction_factor(len(times), 1) * max(spread(shares), least_scale)
    return DriverIdle(math.exp(bound), median([float(elapsed - between) for elapsed, between in valid]))


def _log_share(elapsed_ms: int, between_ms: int) -> float:
    return math.log((between_ms + FLOOR_MS) / (elapsed_ms - between_ms + FLOOR_MS))
