"""Model the driver's idle time: how long an application normally runs no job, relative to the rest of its time.

The model describes ``(between + floor) / (rest + floor)`` on the log scale by its median and p95. ``between`` is the
time between jobs. ``rest`` is all other time: the time of jobs, and the time before the first job. Busy hosts and more
rows make ``between`` and ``rest`` longer, and hardly change the ratio. So only a change of the driver's own idle time
changes the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, spread

# The time to plan, list and commit a small job, in ms; smaller differences are noise.
FLOOR_MS = 2000.0


@dataclass(frozen=True)
class DriverIdle:
    """The model from earlier runs: the p95 of the ratio of idle time to other time, and the usual other time in ms."""

    share_p95: float
    usual_rest_ms: float

    def bound_ms(self, elapsed_ms: int, between_ms: int) -> int:
        """Return the p95 of the idle time in ms for a run of ``elapsed_ms`` with ``between_ms`` of idle time.

        If the other time of the run is shorter than usual, the usual other time is used: a running application may be
        idle before its later jobs.
        """
        rest = max(float(elapsed_ms - between_ms), self.usual_rest_ms)
        return min(MAX_MS, max(0, math.ceil(self.share_p95 * (rest + FLOOR_MS) - FLOOR_MS)))


def fit_driver_idle(times: Sequence[tuple[int, int]], least_scale: float) -> DriverIdle | None:
    """Fit the model to (duration, time between jobs) of earlier runs, in ms; return None if there are no runs.

    ``least_scale`` is the smallest spread that the model assumes between healthy runs, on the log scale.
    """
    if not times:
        return None
    # A negative time, or an idle time longer than the whole run, means that a clock was changed during the run.
    valid = [(max(0, elapsed), min(max(0, between), max(0, elapsed))) for elapsed, between in times]
    shares = [_log_share(elapsed, between) for elapsed, between in valid]
    bound = median(shares) + prediction_factor(len(times), 1) * max(spread(shares), least_scale)
    return DriverIdle(math.exp(bound), median([float(elapsed - between) for elapsed, between in valid]))


def _log_share(elapsed_ms: int, between_ms: int) -> float:
    return math.log((between_ms + FLOOR_MS) / (elapsed_ms - between_ms + FLOOR_MS))
