"""Find the days on which a job always takes longer: a weekday, or the first or last days of a month.

A day is a mode if its runs exceed the other runs in almost every case. The test is the rank test of levels.py: if both
had one distribution, the probability that so many runs of the day are this high is a binomial tail (Wilks 1941). The
modes are computed from the samples of a baseline, so they need no other state.
"""

from __future__ import annotations

import datetime as dt
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sparkfuse_rules.knowledge.levels import MIN_REFERENCE, MIN_SHIFT, RANK_LIMIT, rank_probability
from sparkfuse_rules.knowledge.robust import median

DAY_MS = 24 * 3_600_000
# Later days since epoch have no date; their time is wrong.
LAST_DAY = (dt.date.max - dt.date(1970, 1, 1)).days
# A mode has runs on so many of its days.
LEAST_DAYS = 3
# The first and last days of a month that may be a mode.
DAYS_OF_MONTH = 3
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class DatedResidual(NamedTuple):
    """The start of a run in ms since epoch, and its wall and CPU time relative to the expected ones, as logarithms."""

    started_ms: int
    wall: float
    cpu: float | None


class Shift(NamedTuple):
    """By how much the runs of a mode exceed the other runs, on the log scale; zero for a usual day."""

    wall: float = 0.0
    cpu: float = 0.0


USUAL = Shift()


@dataclass(frozen=True)
class CalendarModes:
    """The modes of a job by the name of the day, such as ``Sunday`` or ``last day of the month``; dates are UTC."""

    shifts: Mapping[str, Shift]

    def at(self, started_ms: int) -> Shift:
        """Return the shift of a run that starts at this time: of its slowest mode."""
        if not self.shifts:
            return USUAL
        return max((self.shifts[name] for name in days_of(started_ms) if name in self.shifts), default=USUAL)


NO_MODES = CalendarModes({})


def calendar_modes(runs: Sequence[DatedResidual]) -> CalendarModes:
    """Return the modes of a job from its known runs; the order of the runs does not matter."""
    if not any(each.wall >= MIN_SHIFT for each in runs):
        return NO_MODES
    names = dict.fromkeys(name for each in runs if each.wall >= MIN_SHIFT for name in days_of(each.started_ms))
    found = ((name, _shift(runs, name)) for name in names)
    return CalendarModes({name: shift for name, shift in found if shift is not None})


def _shift(runs: Sequence[DatedResidual], name: str) -> Shift | None:
    """Return the shift of the runs of one day relative to all other runs, None if it is no mode."""
    inside = [each for each in runs if name in days_of(each.started_ms)]
    others = [each for each in runs if name not in days_of(each.started_ms)]
    days = {each.started_ms // DAY_MS for each in inside}
    if len(days) < LEAST_DAYS or len(others) < MIN_REFERENCE:
        return None
    usual, slow = [each.wall for each in others], [each.wall for each in inside]
    shift = median(slow) - median(usual)
    if shift < MIN_SHIFT or rank_probability(usual, slow) > RANK_LIMIT:
        return None
    # Almost all runs of the day are nearer to the mode than to the usual level.
    if sum(each - median(usual) < shift / 2 for each in slow) > len(slow) // 4:
        return None
    cpu = [[each.cpu for each in side if each.cpu is not None] for side in (inside, others)]
    return Shift(shift, max(0.0, median(cpu[0]) - median(cpu[1])) if all(cpu) else 0.0)


def days_of(started_ms: int) -> tuple[str, ...]:
    """Return the names of the day on which a run starts: its weekday, and its place in the month."""
    return _names(started_ms // DAY_MS)


@lru_cache(maxsize=4096)
def _names(day: int) -> tuple[str, ...]:
    if not 0 <= day < LAST_DAY:
        return ()
    date = dt.date(1970, 1, 1) + dt.timedelta(days=day)
    return (_WEEKDAYS[date.weekday()], *_of_month(date))


def _of_month(date: dt.date) -> Iterator[str]:
    left = monthrange(date.year, date.month)[1] - date.day
    if date.day <= DAYS_OF_MONTH:
        yield f"day {date.day} of the month"
    if left < DAYS_OF_MONTH:
        yield f"{left} days before the last day of the month" if left else "last day of the month"
