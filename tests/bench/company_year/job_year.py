"""One job of the simulated company: its runs of a year as arrays, with the truth about each run."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.bench.company_year.stage_shapes import StageShape

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
HOUR_MS = 3_600_000
FIRST_MS = int(dt.datetime(2025, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
# No run lasts longer than this share of the interval between runs, so that runs of a job do not overlap.
LONGEST_RUN = 0.8
START_UP_MS = 15_000.0


@dataclass(frozen=True)
class Regression:
    """The runs ``first`` to ``end`` - 1 are slower than they should be; ``once`` is an incident of one run."""

    first: int
    end: int
    once: bool = False


@dataclass
class JobYear:
    """The runs of one job. Arrays have one value per run, or per run and stage.

    ``work`` is the volume relative to the first run. ``wall`` and ``cpu`` multiply the times, for healthy and for
    unhealthy reasons. ``true_factor`` is the factor of the regression alone, 1 for a healthy run. ``mode`` is the
    number of the recurring mode that a run belongs to, -1 for none. ``plan`` and ``name`` are numbers that change if
    the fingerprint of a stage, or the job key, changes.
    """

    archetype: str
    number: int
    start_ms: Integers
    shapes: list[StageShape]
    work: Floats
    wall: Floats
    cpu: Floats
    true_factor: Floats
    mode: Integers
    plan: Integers
    name: Integers
    gap_ms: Floats
    empty: npt.NDArray[np.bool_]
    regressions: list[Regression] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.start_ms)

    @property
    def runs_per_day(self) -> float:
        """The number of runs per day."""
        return self.runs / max(1.0, (self.start_ms[-1] - self.start_ms[0]) / (24 * HOUR_MS)) if self.runs > 1 else 1.0

    def days(self, count: float) -> int:
        """Return the number of runs in so many days, at least one."""
        return max(1, round(count * self.runs_per_day))

    def regress(self, first: int, end: int, *, once: bool = False) -> None:
        """Record that the runs from ``first`` to ``end`` - 1 are a regression."""
        self.regressions.append(Regression(first, min(end, self.runs), once))

    def in_regression(self, grace_runs: int = 0) -> npt.NDArray[np.bool_]:
        """Return for each run whether it is in a regression, or within ``grace_runs`` after one."""
        inside = np.zeros(self.runs, dtype=np.bool_)
        for each in self.regressions:
            inside[each.first : each.end + grace_runs] = True
        return inside


def calendar(start_ms: int) -> dt.datetime:
    """Return the UTC date and time of a run."""
    return dt.datetime.fromtimestamp(start_ms / 1000, dt.UTC)


def blank_year(archetype: str, number: int, random: np.random.Generator, shapes: list[StageShape], days: int,
               every_hours: int) -> JobYear:  # fmt: skip
    """Return a healthy job with the noise of an ordinary cluster; archetypes change it."""
    first = FIRST_MS + int(random.integers(0, 24 * 60)) * 60_000
    start = first + np.arange(0, days * 24, every_hours, dtype=np.int64) * HOUR_MS
    start = start + random.integers(0, 600_000, len(start))
    runs, stages = len(start), len(shapes)
    days_of_week = ((start // (24 * HOUR_MS)) + 3) % 7
    weekly = 1 + random.uniform(0, 0.5) * random.uniform(-1, 1, 7)
    work = weekly[days_of_week] * np.exp(random.normal(0, random.uniform(0.02, 0.2), runs))
    host, own, cpu = random.uniform(0.02, 0.12), random.uniform(0.03, 0.15), random.uniform(0.01, 0.06)
    wall = np.exp(random.normal(0, host, (runs, 1)) + random.normal(0, own, (runs, stages)))
    return JobYear(
        archetype, number, start, shapes, work, wall, np.exp(random.normal(0, cpu, (runs, stages))),
        np.ones(runs), np.full(runs, -1), np.zeros((runs, stages), np.int64), np.zeros(runs, np.int64),
        random.uniform(2_000, 40_000) * np.exp(random.normal(0, 0.3, runs)), np.zeros(runs, np.bool_),
    )  # fmt: skip
