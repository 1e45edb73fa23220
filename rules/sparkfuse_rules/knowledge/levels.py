"""Decide whether the recent runs of a job are on another level than its reference runs.

All values are residuals on the log scale: the time of a run relative to the expected time for its work. A change must
pass three tests, so that neither noise nor a job with two alternating levels is reported:

- size: the medians differ by at least ``MIN_SHIFT``;
- rank: if recent and reference runs had the same distribution, the recent ones would hardly all be this high. The
  probability that ``c`` of ``k`` runs exceed a value that ``m`` of ``n`` reference runs reach is a binomial tail with
  the rate ``(m + 1) / (n + 1)`` (Wilks 1941, distribution-free tolerance limits);
- signal to noise: the difference is large relative to the standard error of two medians (Laplace 1818).

The windows have several lengths, as in Page's CUSUM (1954): a large step needs few runs, a small one needs more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sparkfuse_rules.knowledge.robust import median, successive_spread

# The numbers of recent runs that are compared with the reference.
WINDOWS = (3, 5, 8, 12)
# At least this many reference runs are required; a comparison with fewer proves nothing.
MIN_REFERENCE = 5
# A level that differs by less is no change that a person would act on.
MIN_SHIFT = math.log(1.25)
# The largest accepted probability of the rank test.
RANK_LIMIT = 2e-3
# The difference of the medians is at least this many standard errors.
MIN_Z = 3.6
# The standard error of a median of normal values is this many times that of their mean (Laplace 1818).
MEDIAN_ERROR = math.sqrt(math.pi / 2)
# The smallest spread that is assumed, on the log scale: five percent of the duration.
MIN_SPREAD = 0.05
# An earlier run was about as slow if it had at least this share of the difference to the reference.
ABOUT_AS_SLOW = 0.75
# A level of more runs than this is reported, however often the job was as slow before.
MOST_PASSED = 9
# Other work on the hosts raises the wall time of all runs of some hours. If CPU time has not changed, the recent runs
# must cover at least this time.
MIN_SPAN_MS = 10 * 3_600_000


class Residual(NamedTuple):
    """The wall and CPU time of one run relative to the expected times, on the log scale; ``at_ms`` is its end."""

    at_ms: int
    wall: float
    cpu: float | None = None


@dataclass(frozen=True)
class Level:
    """The level of the newest runs: ``shift`` to the reference on the log scale, since when, and of how many runs."""

    shift: float
    since_ms: int
    runs: int


def changed_level(reference: Sequence[Residual], later: Sequence[Residual]) -> Level | None:
    """Return the level of the newest runs if it is above the reference, else None.

    Both lists are ordered by time; ``later`` are the known runs that are no reference. The level holds until the last
    three runs are all closer to the reference. If earlier runs were about as slow and the job recovered, the level must
    have more runs than those: what has passed several times will probably pass again.
    """
    recent = later[-WINDOWS[-1] :]
    if len(reference) < MIN_REFERENCE or len(recent) < WINDOWS[0]:
        return None
    base = median([each.wall for each in reference])
    # The usual case, tested first because it is cheap: all windows contain the newest runs.
    if max(each.wall for each in recent[-WINDOWS[0] :]) - base < MIN_SHIFT / 2:
        return None
    shifts = [_shift(reference, recent, size) for size in WINDOWS if size <= len(recent)]
    found = max((shift for shift in shifts if shift is not None), default=None)
    if found is None or all(each.wall - base < found / 2 for each in recent[-WINDOWS[0] :]):
        return None
    first = _first_run(later, base + found / 2)
    runs = len(later) - first
    passed = sum(each.wall >= base + ABOUT_AS_SLOW * found for each in later[:first])
    return Level(found, later[first].at_ms, runs) if runs > min(passed, MOST_PASSED) else None


def _shift(reference: Sequence[Residual], recent: Sequence[Residual], size: int) -> float | None:
    """Return by how much the newest ``size`` runs are above the reference, or None if the tests show no change."""
    wall = _difference([each.wall for each in reference], [each.wall for each in recent], size)
    if wall.shift < MIN_SHIFT:
        return None
    cpu = _cpu_difference(reference, recent, size)
    if cpu is not None and cpu.significant and cpu.shift >= MIN_SHIFT:
        return wall.shift
    long_enough = cpu is None or recent[-1].at_ms - recent[-size].at_ms >= MIN_SPAN_MS
    return wall.shift if wall.significant and long_enough else None


@dataclass(frozen=True)
class _Difference:
    shift: float
    significant: bool


def _difference(reference: Sequence[float], recent: Sequence[float], size: int) -> _Difference:
    window = recent[-size:]
    shift = median(window) - median(reference)
    # All recent runs show the spread: that of three runs alone would be a guess.
    spread = max(MIN_SPREAD, successive_spread(reference, recent))
    error = MEDIAN_ERROR * spread * math.sqrt(1 / len(reference) + 1 / size)
    return _Difference(shift, shift >= MIN_Z * error and _rank_probability(reference, window) <= RANK_LIMIT)


def _cpu_difference(reference: Sequence[Residual], recent: Sequence[Residual], size: int) -> _Difference | None:
    before = [each.cpu for each in reference if each.cpu is not None]
    after = [each.cpu for each in recent if each.cpu is not None]
    known = len(before) >= MIN_REFERENCE and len(after) == len(recent)
    return _difference(before, after, size) if known else None


def _rank_probability(reference: Sequence[float], window: Sequence[float]) -> float:
    """Return the probability that so many runs of the window are so high by chance; a quarter may be lower."""
    lower = len(window) // 4
    value = sorted(window)[lower]
    rate = (1 + sum(each >= value for each in reference)) / (len(reference) + 1)
    size = len(window)
    return sum(math.comb(size, count) * rate**count * (1 - rate) ** (size - count)
               for count in range(size - lower, size + 1))  # fmt: skip


def _first_run(later: Sequence[Residual], middle: float) -> int:
    """Return the index of the first run of the level: where the sum of the distances from the middle is largest."""
    best, total, first = -math.inf, 0.0, len(later) - 1
    for place in range(len(later) - 1, -1, -1):
        total += later[place].wall - middle
        if total > best:
            best, first = total, place
    return first
