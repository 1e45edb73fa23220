"""How long a driver may be without a job, by the share of their time for which its earlier runs were.

``(between + floor) / (rest + floor)`` is judged on the log scale by its median and the bound that 19 of 20 stay below.
The rest is all other time: its jobs', and that before the first of them. A share, because neighbours and more rows make
both longer: what remains is the driver's own waiting. A late start raises what may be waited behind it, by the share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, spread

# Planning, listing and committing of a small job: differences below mean nothing.
FLOOR_MS = 2000.0


@dataclass(frozen=True)
class DriverIdle:
    """What earlier runs tell: the bound of the share, and how long they usually took without their waiting [ms]."""

    share_p95: float
    usual_rest_ms: float

    def bound_ms(self, elapsed_ms: int, between_ms: int) -> int:
        """How long 19 of 20 runs would be without a job at most, had the rest taken as long as this run's [ms].

        A run that goes on, or has less to do, is held to the usual rest: its driver may wait first, and as long.
        """
        rest = max(float(elapsed_ms - between_ms), self.usual_rest_ms)
        return min(MAX_MS, max(0, math.ceil(self.share_p95 * (rest + FLOOR_MS) - FLOOR_MS)))


def fit_driver_idle(told: Sequence[tuple[int, int]], least_scale: float) -> DriverIdle | None:
    """What runs tell of which the whole and the time between jobs are known [ms]; None without any.

    ``least_scale`` is that by which two healthy runs differ anyway, on the log scale.
    """
    if not told:
        return None
    # A time below 0, or a part above the whole, is the word of a clock that was set, or of nobody whom we know.
    whole = [(max(0, elapsed), min(max(0, between), max(0, elapsed))) for elapsed, between in told]
    shares = [_log_share(elapsed, between) for elapsed, between in whole]
    bound = median(shares) + prediction_factor(len(told), 1) * max(spread(shares), least_scale)
    return DriverIdle(math.exp(bound), median([float(elapsed - between) for elapsed, between in whole]))


def _log_share(elapsed_ms: int, between_ms: int) -> float:
    return math.log((between_ms + FLOOR_MS) / (elapsed_ms - between_ms + FLOOR_MS))
