"""Measures by which factor the runs of a job changed with its configuration, for the same input size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.baseline_model import MAX_SLOPE, MIN_SIZE_SPREAD, UNSEEN_SIZE_REACH
from sparkfuse_rules.knowledge.robust import median, theil_sen_slope

MIN_RUNS = 5
_Z = 1.959964


@dataclass(frozen=True)
class Measured:
    """One value of one run, such as its duration, and the input bytes of the run; None if they are not known."""

    value: float
    input_bytes: int | None


@dataclass(frozen=True)
class Effect:
    """The runs after a change divided by those before it: the typical ratio, and its interval of 95 %.

    ``before`` is the median of the values before the change; ``runs`` is the number of runs after it.
    """

    ratio: float
    low: float
    high: float
    before: float
    runs: int


class NotComparableError(ValueError):
    """The effect cannot be measured; the message is one sentence that says why."""


def effect(before: Sequence[Measured], after: Sequence[Measured]) -> Effect:
    """Return the factor between two groups of runs, the median of all ratios of one run after to one run before.

    Values are first brought to the same input size, on a line of log(value) over log(input bytes) that is fitted to the
    runs before (Theil 1950, Sen 1968). If some runs have a known input size, the others are left out. The estimate is
    that of Hodges and Lehmann 1963; its interval is that of the test of Mann and Whitney 1947, with the normal
    approximation and its continuity correction. The uncertainty of the line is not in the interval.

    Raises NotComparableError if a group has fewer than `MIN_RUNS` runs, or if the input size has changed by more than
    the runs before explain.
    """
    earlier, later = _usable(before), _usable(after)
    if any(each.input_bytes for each in [*earlier, *later]):
        earlier, later = ([each for each in group if each.input_bytes] for group in (earlier, later))
    for group, which in ((earlier, "before the change"), (later, "with the setting")):
        if len(group) < MIN_RUNS:
            raise NotComparableError(
                f"The effect is measured from {MIN_RUNS} successful runs {which} whose values and input size are "
                f"known; there are {len(group)}."
            )
    slope = _slope(earlier, later)
    old, new = ([_log_at_same_size(each, slope) for each in group] for group in (earlier, later))
    ratios = sorted(one - other for one in new for other in old)
    count = len(ratios)
    margin = _Z * math.sqrt(count * (len(old) + len(new) + 1) / 12)
    left = min(max(math.floor(count / 2 - margin - 0.5), 0), (count - 1) // 2)
    typical, low, high = (math.exp(each) for each in (median(ratios), ratios[left], ratios[count - 1 - left]))
    return Effect(typical, low, high, median([each.value for each in earlier]), len(later))


def _usable(runs: Sequence[Measured]) -> list[Measured]:
    return [each for each in runs if each.value > 0]


def _slope(before: Sequence[Measured], after: Sequence[Measured]) -> float:
    """Return by which power of the input size the values grow. Raises NotComparableError."""
    learned, asked = _sizes(before), _sizes(after)
    if not learned:
        return 0.0
    if max(learned) - min(learned) >= MIN_SIZE_SPREAD:
        if max(asked) > max(learned) + UNSEEN_SIZE_REACH or min(asked) < min(learned) - UNSEEN_SIZE_REACH:
            raise NotComparableError("The input is more than four times larger or smaller than before the change.")
        points = [(size, math.log(each.value)) for size, each in zip(learned, before, strict=True)]
        return min(max(theil_sen_slope(points), 0.0), MAX_SLOPE)
    if abs(median(asked) - median(learned)) > MIN_SIZE_SPREAD:
        raise NotComparableError(
            "The input size has changed by more than a fifth, and the earlier runs do not show what that changes."
        )
    return 0.0


def _sizes(runs: Sequence[Measured]) -> list[float]:
    return [math.log(each.input_bytes) for each in runs if each.input_bytes]


def _log_at_same_size(run: Measured, slope: float) -> float:
    return math.log(run.value) - (slope * math.log(run.input_bytes) if run.input_bytes else 0.0)
