"""How long what runs will still take: a stage by its progress, an application by its earlier runs and its stages.

Formulas and their reasons: docs/rules.md, "What is still to come".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_rules.knowledge.baseline_model import MIN_SCALE
from sparkfuse_rules.knowledge.robust import MAX_MS

RUNNING = "running"
# The first task of each slot loads classes and compiles: 5 to 8 times slower on the same data. Only when more than
# two waves have ended are those tasks a minority of what the median rests on.
WAVES_BEFORE = 2
# The quantile of the normal distribution that a bound of 19 in 20 stands for.
_Z_95 = 1.6448536269514722
# From here on the tail of the normal distribution is taken from its series (Abramowitz and Stegun 26.2.12).
_FAR = 30.0


@dataclass(frozen=True)
class Remaining:
    """How long something will still take in ms: ``ms`` in the middle, ``p95_ms`` at the bound of 19 in 20."""

    ms: int
    p95_ms: int


@dataclass(frozen=True)
class Expected:
    """How long the whole application takes in ms, by its earlier runs: the middle, and the bound of 19 in 20."""

    ms: int
    p95_ms: int


def stage_remaining(stage: Mapping[str, Any], application_slots: int = 0) -> Remaining | None:
    """How long a running stage will still take, at least; None before its third wave of tasks.

    ``stage`` has columns of stage_live. What is to come (tasks that neither run nor ended well) goes over the slots
    in whole waves, each as long as the median task that ended well; ``p95_ms`` at the pace of the slow ones. Slots are
    all that the application has, because a stage that shares them now may have them all soon; at least the running
    tasks, and how many ran at once on average, because a window may end between two of them.
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
    """Which part of the stage's work its ended tasks did: what was counted so far, divided by it, is the whole.

    1.0 where nothing is left or nothing ended.
    """
    tasks, succeeded = stage.get("num_tasks") or 0, stage.get("succeeded_tasks") or 0
    return succeeded / tasks if 0 < succeeded < tasks else 1.0


def application_remaining(elapsed_ms: int, expected: Expected | None, stages: Remaining | None) -> Remaining | None:
    """How long an application will still run: by its earlier runs, given that it runs already; None for nothing known.

    At least as long as its running stages do.
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
    """The chance that an application that has run for ``elapsed_ms`` takes longer than ``limit_ms`` in all.

    The higher of two: by its earlier runs, given that it runs already; by its running stages alone. Between 0 and 1,
    never falls while it runs on with nothing else changed, 1 from the limit on; None where nothing is known.
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
    """A time that is normal on the log scale."""

    centre: float
    scale: float

    @classmethod
    def of(cls, expected: Expected) -> _Time:
        middle = max(1, expected.ms)
        return cls(math.log(middle), max(MIN_SCALE, math.log(max(middle, expected.p95_ms) / middle) / _Z_95))

    def share_beyond(self, limit_ms: float, after_ms: float) -> float:
        """The share of the times above ``after_ms`` that are above ``limit_ms`` too."""
        return min(1.0, math.exp(_log_beyond(self._z(limit_ms)) - _log_beyond(self._z(after_ms))))

    def quantile_beyond(self, after_ms: float, share: float) -> float:
        """The time that ``share`` of the times above ``after_ms`` exceed."""
        low = self._z(after_ms)
        high, wanted = max(low, 0.0) + 10.0, _log_beyond(low) + math.log(share)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _log_beyond(middle) > wanted else (low, middle)
        return math.exp(min(self.centre + self.scale * high, math.log(MAX_MS)))

    def _z(self, time_ms: float) -> float:
        return (math.log(max(1.0, time_ms)) - self.centre) / self.scale


def _log_beyond(z: float) -> float:
    """The logarithm of the share of a standard normal distribution above ``z``."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2)))
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi)) + math.log1p(-1 / z**2 + 3 / z**4)


def _whole(milliseconds: float) -> int:
    return min(math.ceil(milliseconds), MAX_MS) if milliseconds < MAX_MS else MAX_MS
