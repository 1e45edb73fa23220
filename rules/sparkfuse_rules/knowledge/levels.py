"""Decide whether the recent runs of a job are on another level than its reference runs.

All values are residuals on the log scale: the time of a run relative to the expected time for its work. A change must
pass three tests, so that neither noise nor a job with two alternating levels is reported:

- size: the medians differ by at least ``MIN_SHIFT``;
- rank: if recent and reference runs had the same distribution, the recent ones would hardly all be this high. The
  probability that ``c`` of ``k`` runs exceed a value that ``m`` of ``n`` reference runs reach is a binomial tail with
  the rate ``(m + 1) / (n + 1)`` (Wilks 1941, distribution-free tolerance limits);
- signal to noise: the difference is large relative to the standard error of two medians (Laplace 1818);
- persistence: if the job was about as slow before and recovered, the level must last longer than such an episode
  usually does. Fast and slow runs are a two-state Markov chain (Gilbert 1960), whose probability to remain slow is
  estimated from the earlier episodes.

The windows have several lengths, as in Page's CUSUM (1954): a large step needs few runs, a small one needs more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
# Slow episodes of a job recur at a rate. A level is reported if, at this rate, at most so many episodes a year would
# last as long by chance.
EPISODES_PER_YEAR = 0.2
YEAR_MS = 365 * 24 * 3_600_000
# The rate of episodes is not extrapolated from less than this time.
LEAST_SPAN_MS = 30 * 24 * 3_600_000
# What is assumed before any episode is known: a slow run is followed by another one with a probability of one third.
PRIOR_SLOW, PRIOR_FAST = 0.5, 1.0
# One fast run outweighs so many slow runs: at most a quarter of the runs of a level are fast.
FAST_RUN = -3.0
# A level has risen at once if its first runs have at least this share of the change, and the runs before them at most
# that.
RISEN, NOT_RISEN = 0.75, 0.4
# The rate of episodes is the higher one of two: that of all known runs and that of this many newest runs. Only the
# slowest of the old runs are kept, so their number is limited.
NEWEST_RUNS = 16
# Other work on the hosts raises the wall time of all runs of some hours. If CPU time has not changed, the recent runs
# must cover at least this time.
MIN_SPAN_MS = 10 * 3_600_000


class Residual(NamedTuple):
    """The wall and CPU time of one run relative to the expected times, on the log scale; ``at_ms`` is its end.

    ``slow_runs`` is the number of runs in a row, up to this one, that were slower than the reference by ``MIN_SHIFT``,
    and ``reported`` the shift of the level that the run reported, on the log scale.
    """

    at_ms: int
    wall: float
    cpu: float | None = None
    slow_runs: int = 0
    reported: float | None = None


@dataclass(frozen=True)
class Level:
    """The level of the newest runs: ``shift`` to the reference on the log scale, since when, and of how many runs.

    ``sudden`` is false if the duration has risen gradually, and None if the runs before the level are no longer known.
    """

    shift: float
    since_ms: int
    runs: int
    sudden: bool | None = None


def changed_level(reference: Sequence[Residual], later: Sequence[Residual]) -> Level | None:
    """Return the level of the newest runs if it is above the reference, else None.

    Both lists are ordered by time; ``later`` are the known runs that are no reference. The level holds until the last
    three runs are all closer to the reference. If earlier runs were about as slow and the job recovered, the level must
    last longer than those episodes: what has passed several times will probably pass again.
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
    level = later[first:]
    if len(level) < longest_episode(later[:first], _about_as_slow(reference, level, base + ABOUT_AS_SLOW * found)):
        return None
    before_known = first or len(later) <= NEWEST_RUNS
    sudden = _sudden([*reference, *later[:first]], level, base, found) if before_known else None
    return Level(found, level[0].at_ms, len(level), sudden)


def longest_episode(earlier: Sequence[Residual], slow: Callable[[Residual], bool]) -> float:
    """Return the number of runs that slow episodes reach ``EPISODES_PER_YEAR`` times a year.

    ``earlier`` are the runs before the current episode, and ``slow`` returns whether a run was about as slow. Without
    earlier slow runs, the result is 0.
    """
    passed = [each for each in earlier if slow(each)]
    if not passed:
        return 0.0
    remained = sum(each.slow_runs > 1 for each in passed)
    remains = (remained + PRIOR_SLOW) / (len(passed) + PRIOR_SLOW + PRIOR_FAST)
    rate = max(_episodes_per_year(earlier, slow), _episodes_per_year(earlier[-NEWEST_RUNS:], slow))
    return 1 + math.log(EPISODES_PER_YEAR / rate) / math.log(remains)


def _episodes_per_year(runs: Sequence[Residual], slow: Callable[[Residual], bool]) -> float:
    episodes = sum(slow(each) and each.slow_runs <= 1 for each in runs)
    return max(1, episodes) * YEAR_MS / max(LEAST_SPAN_MS, runs[-1].at_ms - runs[0].at_ms)


def _about_as_slow(reference: Sequence[Residual], level: Sequence[Residual], slow: float) -> Callable[[Residual], bool]:
    """Return a function that returns whether a run was about as slow as the level, and in the same way.

    If the CPU time of the level has risen, a run whose CPU time was normal only waited, so it was slow in another way.
    """
    before = [each.cpu for each in reference if each.cpu is not None]
    after = [each.cpu for each in level if each.cpu is not None]
    rise = median(after) - median(before) if before and after else 0.0
    if rise < MIN_SHIFT:
        return lambda each: each.wall >= slow
    least = median(before) + rise / 2
    return lambda each: each.wall >= slow and (each.cpu is None or each.cpu >= least)


def _sudden(before: Sequence[Residual], level: Sequence[Residual], base: float, shift: float) -> bool:
    """Return whether the first runs of the level are about as slow as the newest, and the runs before it are not."""
    first = median([each.wall for each in level[: WINDOWS[1]]]) - base
    last = median([each.wall for each in before[-WINDOWS[2] :]]) - base
    return first >= RISEN * shift and last <= NOT_RISEN * shift


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
    return _Difference(shift, shift >= MIN_Z * error and rank_probability(reference, window) <= RANK_LIMIT)


def _cpu_difference(reference: Sequence[Residual], recent: Sequence[Residual], size: int) -> _Difference | None:
    before = [each.cpu for each in reference if each.cpu is not None]
    after = [each.cpu for each in recent if each.cpu is not None]
    known = len(before) >= MIN_REFERENCE and len(after) == len(recent)
    return _difference(before, after, size) if known else None


def rank_probability(reference: Sequence[float], window: Sequence[float]) -> float:
    """Return the probability that so many runs of the window are so high by chance; a quarter may be lower."""
    lower = len(window) // 4
    value = sorted(window)[lower]
    rate = (1 + sum(each >= value for each in reference)) / (len(reference) + 1)
    size = len(window)
    return sum(math.comb(size, count) * rate**count * (1 - rate) ** (size - count)
               for count in range(size - lower, size + 1))  # fmt: skip


def _first_run(later: Sequence[Residual], middle: float) -> int:
    """Return the index of the first run of the level, from which on most runs are above the middle.

    It is where the cumulative sum of the signs is largest (Page 1954). Signs are used because the slowest of the old
    runs are kept longer than the others, so the sum of their distances from the middle would reach into earlier
    episodes.
    """
    best, total, first = -math.inf, 0.0, len(later) - 1
    for place in range(len(later) - 1, -1, -1):
        total += 1.0 if later[place].wall >= middle else FAST_RUN
        if total >= best and later[place].wall >= middle:
            best, first = total, place
    return first
