"""Estimate the remaining time of a stage from its progress, and of an application from earlier runs and its stages.

The formulas and their reasons are in docs/rules.md, "Projection and forecast".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_rules.knowledge.baseline_model import MIN_SCALE
from sparkfuse_rules.knowledge.robust import MAX_MS

RUNNING = "running"
# The first task of each slot loads classes and compiles code, so it takes 5 to 8 times longer for the same data. After
# more than two waves, these first tasks are a minority and do not determine the median.
WAVES_BEFORE = 2
# The 95 % quantile of the standard normal distribution.
_Z_95 = 1.6448536269514722
# Above this value, the tail of the normal distribution is computed by its asymptotic series (Abramowitz and Stegun
# 26.2.12).
_FAR = 30.0


@dataclass(frozen=True)
class Remaining:
    """The remaining time in ms: ``ms`` is the median, ``p95_ms`` the 95th percentile."""

    ms: int
    p95_ms: int


@dataclass(frozen=True)
class Expected:
    """The expected duration of an application in ms, from its earlier runs: median and 95th percentile."""

    ms: int
    p95_ms: int


def stage_remaining(stage: Mapping[str, Any], application_slots: int = 0) -> Remaining | None:
    """Return the remaining time of a running stage, as a lower bound; None before its third wave of tasks.

    ``stage`` has the columns of stage_live. The calculation distributes the tasks that neither run nor succeeded over
    the slots in whole waves. Each wave takes as long as the median successful task, or the 95th percentile for
    ``p95_ms``.

    The number of slots is that of the whole application, because the stage may soon use all slots. The number of slots
    is at least the number of running tasks, and at least the average number of tasks that ran at the same time. The
    average is needed because a window may end between two tasks.
    """
    elapsed_ms, median_ms = stage.get("elapsed_ms"), stage.get("duration_p50_ms")
    if stage.get("status") != RUNNING or not elapsed_ms or not median_ms or not math.isfinite(median_ms):
        return None
    running, succeeded = stage.get("running_tasks") or 0, stage.get("succeeded_tasks") or 0
    slots = max(application_slots, running, math.ceil((stage.get("finished_duration_ms") or 0) / elapsed_ms))
    if slots <= 0 or succeeded <= WAVES_BEFORE * slots:
        return None
    waves = math.ceil(max(0, (stage.get("num_tasks") or 0) - succeeded - running) / slots)
    slow_ms = stage.get("duration_p95_ms") or median_ms
    return Remaining(_whole(waves * median_ms), _whole(waves * max(median_ms, slow_ms)))


def share_of_whole(stage: Mapping[str, Any]) -> float:
    """Return the share of the stage's tasks that succeeded; a counter divided by it estimates the whole stage.

    The result is 1.0 if no task is left, or if no task succeeded.
    """
    tasks, succeeded = stage.get("num_tasks") or 0, stage.get("succeeded_tasks") or 0
    return succeeded / tasks if 0 < succeeded < tasks else 1.0


def application_remaining(elapsed_ms: int, expected: Expected | None, stages: Remaining | None) -> Remaining | None:
    """Return the remaining time of an application from its earlier runs and the time it has run; None if unknown.

    The result is at least the remaining time of the application's running stages.
    """
    parts = [stages] if stages else []
    if expected:
        time = _Time.of(expected)
        ends = [time.quantile_beyond(elapsed_ms, share) for share in (0.5, 0.05)]
        parts.append(Remaining(*(max(0, _whole(end - elapsed_ms)) for end in ends)))
    if not parts:
        return None
    middle = max(part.ms for part in parts)
    return Remaining(middle, max(middle, *(part.p95_ms for part in parts)))


def late_chance(elapsed_ms: int, limit_ms: int, expected: Expected | None, stages: Remaining | None) -> float | None:
    """Return the probability that an application that has run for ``elapsed_ms`` takes longer than ``limit_ms``.

    The result is the higher of two estimates. One estimate uses the earlier runs and the elapsed time, the other the
    running stages. The result is 1 when the elapsed time has reached the limit, and never falls only because time
    passes. The result is None if neither estimate can be computed.
    """
    if elapsed_ms >= limit_ms:
        return 1.0
    chances = []
    if expected:
        chances.append(_Time.of(expected).share_beyond(limit_ms, elapsed_ms))
    if stages and stages.ms > 0:
        chances.append(_Time.of(Expected(stages.ms, stages.p95_ms)).share_beyond(limit_ms - elapsed_ms, 0))
    elif stages:
        chances.append(0.0)
    return max(chances) if chances else None


@dataclass(frozen=True)
class _Time:
    """A log-normal distribution of a duration."""

    centre: float
    scale: float

    @classmethod
    def of(cls, expected: Expected) -> _Time:
        middle = max(1, expected.ms)
        return cls(math.log(middle), max(MIN_SCALE, math.log(max(middle, expected.p95_ms) / middle) / _Z_95))

    def share_beyond(self, limit_ms: float, after_ms: float) -> float:
        """Return the share of those durations above ``limit_ms`` among all durations above ``after_ms``."""
        return min(1.0, math.exp(_log_beyond(self._z(limit_ms)) - _log_beyond(self._z(after_ms))))

    def quantile_beyond(self, after_ms: float, share: float) -> float:
        """Return the duration that is exceeded by the fraction ``share`` of all durations above ``after_ms``."""
        low = self._z(after_ms)
        high, wanted = max(low, 0.0) + 10.0, _log_beyond(low) + math.log(share)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _log_beyond(middle) > wanted else (low, middle)
        return math.exp(min(self.centre + self.scale * high, math.log(MAX_MS)))

    def _z(self, time_ms: float) -> float:
        return (math.log(max(1.0, time_ms)) - self.centre) / self.scale


def _log_beyond(z: float) -> float:
    """Return the logarithm of the share of a standard normal distribution that is above ``z``."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2)))
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi)) + math.log1p(-1 / z**2 + 3 / z**4)


def _whole(milliseconds: float) -> int:
    return min(math.ceil(milliseconds), MAX_MS) if milliseconds < MAX_MS else MAX_MS
