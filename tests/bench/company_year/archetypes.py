"""Kinds of jobs, with the truth: healthy runs, regressions, and the recurring mode that a run belongs to."""

from __future__ import annotations

import calendar as month_lengths
from collections.abc import Callable, Mapping

import numpy as np

from tests.bench.company_year.job_year import JobYear, calendar

Archetype = Callable[[JobYear, np.random.Generator], None]


def _somewhere(job: JobYear, random: np.random.Generator, early: float = 0.15, late: float = 0.7) -> int:
    """Return a run in the middle of the year."""
    return int(random.integers(int(early * job.runs), max(int(early * job.runs) + 1, int(late * job.runs))))


def _slower(job: JobYear, runs: slice, factor: float, *, wall_only: bool = False) -> None:
    """Make the runs slower and record the true factor."""
    job.wall[runs] *= factor
    if not wall_only:
        job.cpu[runs] *= factor
    job.true_factor[runs] *= factor


def stable(_job: JobYear, _random: np.random.Generator) -> None:
    """The same work and the same time all year."""


def growing(job: JobYear, random: np.random.Generator) -> None:
    """The data grows up to eight times in the year, and the time with it."""
    job.work *= np.exp(np.linspace(0, random.uniform(0.3, 2.1), job.runs))


def drifting(job: JobYear, random: np.random.Generator) -> None:
    """At equal work, each run takes 0.5 to 3 % longer than the one before, up to 2.5 to 8 times."""
    first, rate = _somewhere(job, random, 0.1, 0.5), random.uniform(0.005, 0.03)
    factor = np.minimum(np.exp(rate * np.arange(job.runs - first)), random.uniform(2.5, 8))
    job.wall[first:] *= factor[:, None]
    job.cpu[first:] *= factor[:, None]
    job.true_factor[first:] *= factor
    job.regress(first, job.runs)


def step_up(job: JobYear, random: np.random.Generator) -> None:
    """From one run on, the job takes 1.5 to 3 times as long; weeks later it recovers."""
    first = _somewhere(job, random)
    end = first + int(random.integers(20, 60))
    _slower(job, slice(first, end), random.uniform(1.5, 3), wall_only=bool(random.random() < 0.25))
    job.regress(first, end)


def step_down(job: JobYear, random: np.random.Generator) -> None:
    """From one run on, the job takes 0.4 to 0.7 of the time; half of the jobs lose the gain later."""
    first, factor = _somewhere(job, random, 0.15, 0.5), random.uniform(0.4, 0.66)
    job.wall[first:] *= factor
    job.cpu[first:] *= factor
    if random.random() < 0.5:
        back = first + max(30, (job.runs - first) // 2)
        _slower(job, slice(back, None), 1 / factor)
        if back < job.runs:
            job.regress(back, job.runs)


def weekly_mode(job: JobYear, random: np.random.Generator) -> None:
    """On one day of the week, a run takes 2 to 5 times as long at equal bytes."""
    day, factor = int(random.integers(7)), random.uniform(2, 5)
    of_day = np.array([calendar(int(each)).weekday() == day for each in job.start_ms])
    job.mode[of_day] = 0
    job.wall[of_day] *= factor
    job.cpu[of_day] *= factor


def month_end(job: JobYear, random: np.random.Generator) -> None:
    """On one to three days at the end or start of the month, a run takes 2.5 to 6 times as long at equal bytes."""
    last, factor, at_end = int(random.integers(1, 4)), random.uniform(2.5, 6), random.random() < 0.7
    for run, start in enumerate(job.start_ms):
        day = calendar(int(start))
        length = month_lengths.monthrange(day.year, day.month)[1]
        if day.day > length - last if at_end else day.day <= last:
            job.mode[run] = 0
            job.wall[run] *= factor
            job.cpu[run] *= factor


def empty_runs(job: JobYear, random: np.random.Generator) -> None:
    """Runs of some hours of the night have no input at all and end at once."""
    first, hours = int(random.integers(24)), int(random.integers(3, 9))
    for run, start in enumerate(job.start_ms):
        job.empty[run] = (calendar(int(start)).hour - first) % 24 < hours


def partial_runs(job: JobYear, random: np.random.Generator) -> None:
    """Some runs, or the nights, have 3 to 20 % of the data."""
    share, nights = random.uniform(0.05, 0.4), random.random() < 0.5
    first, hours = int(random.integers(24)), int(random.integers(3, 9))
    for run, start in enumerate(job.start_ms):
        small = (calendar(int(start)).hour - first) % 24 < hours if nights else random.random() < share
        if small:
            job.work[run] *= random.uniform(0.03, 0.2)


def bimodal(job: JobYear, random: np.random.Generator) -> None:
    """A share of the runs takes 1.6 to 4 times as long, at random and at equal bytes."""
    slow = random.random(job.runs) < random.uniform(0.1, 0.5)
    factor = random.uniform(1.6, 4)
    job.mode[slow] = 0
    job.wall[slow] *= factor
    job.cpu[slow] *= factor


def heavy_tails(job: JobYear, random: np.random.Generator) -> None:
    """The noise is wide, and 1 to 4 % of the stages take 3 to 8 times as long; mostly without more CPU time."""
    job.wall *= np.exp(random.normal(0, random.uniform(0.1, 0.35), job.wall.shape))
    tail = random.random(job.wall.shape) < random.uniform(0.01, 0.04)
    factor = np.asarray(random.uniform(3, 8, job.wall.shape))
    job.wall[tail] *= factor[tail]
    if random.random() < 0.3:
        job.cpu[tail] *= factor[tail]


def noisy_neighbours(job: JobYear, random: np.random.Generator) -> None:
    """Other work slows all stages of the runs of some hours or days 1.3 to 3.5 times, without more CPU time."""
    run = 0
    while run < job.runs:
        run += 1 + int(random.exponential(job.days(random.uniform(6, 20))))
        length = 1 + int(random.exponential(job.days(0.6)))
        job.wall[run : run + length] *= np.exp(random.uniform(np.log(1.3), np.log(3.5)))
        job.cpu[run : run + length] *= random.uniform(1.0, 1.12)
        run += length


def capacity(job: JobYear, random: np.random.Generator) -> None:
    """For some weeks, the cluster is half as large: the wall time doubles and the CPU time stays."""
    first = _somewhere(job, random)
    end = first + job.days(random.uniform(15, 50))
    _slower(job, slice(first, end), random.uniform(1.7, 2.2), wall_only=True)
    job.regress(first, end)


def query_edit(job: JobYear, random: np.random.Generator) -> None:
    """A few times in the year, the query and every fingerprint change; a third of the jobs gets slower once."""
    edits = sorted(_somewhere(job, random, 0.1, 0.95) for _ in range(int(random.integers(2, 6))))
    for place, first in enumerate(edits):
        job.plan[first:] += 1
        level = random.uniform(0.9, 1.12)
        job.wall[first:] *= level
        job.cpu[first:] *= level
        if place == len(edits) // 2 and random.random() < 0.33:
            end = edits[place + 1] if place + 1 < len(edits) else job.runs
            if end - first >= 10:
                _slower(job, slice(first, end), random.uniform(1.6, 3))
                job.regress(first, end)


def renamed(job: JobYear, random: np.random.Generator) -> None:
    """In the middle of the year, the job gets another name, so that nothing is known about it."""
    job.name[_somewhere(job, random) :] += 1


def spark_upgrade(job: JobYear, random: np.random.Generator) -> None:
    """With another version of Spark, every plan changes; a third of the jobs gets 1.5 to 2 times slower."""
    first = _somewhere(job, random)
    job.plan[first:] += 1
    level = random.uniform(0.8, 1.1)
    job.wall[first:] *= level
    job.cpu[first:] *= level
    if random.random() < 0.33:
        _slower(job, slice(first, None), random.uniform(1.5, 2))
        job.regress(first, job.runs)


def join_flip(job: JobYear, random: np.random.Generator) -> None:
    """A join flips to another plan that takes 1.8 to 3 times as long: in some runs, or from one run on."""
    stage, factor = int(random.integers(len(job.shapes))), random.uniform(1.8, 3)
    if random.random() < 0.5:
        flipped = random.random(job.runs) < random.uniform(0.03, 0.2)
        job.mode[flipped] = 0
        job.plan[flipped] += 100
        job.wall[flipped, stage] *= factor
        job.cpu[flipped, stage] *= factor
        return
    first = _somewhere(job, random)
    job.plan[first:] += 100
    job.wall[first:, stage] *= factor
    job.cpu[first:, stage] *= factor
    share = job.shapes[stage].base_ms / sum(shape.base_ms for shape in job.shapes)
    job.true_factor[first:] *= 1 + share * (factor - 1)
    if job.true_factor[first] >= 1.4:
        job.regress(first, job.runs)


def incidents(job: JobYear, random: np.random.Generator) -> None:
    """Up to three times in the year, one run takes 5 to 15 times as long, because a service answers slowly."""
    for _ in range(int(random.integers(1, 4))):
        run = _somewhere(job, random, 0.1, 0.95)
        if not job.in_regression()[max(0, run - 5) : run + 6].any():
            _slower(job, slice(run, run + 1), random.uniform(5, 15), wall_only=bool(random.random() < 0.5))
            job.regress(run, run + 1, once=True)


ARCHETYPES: Mapping[str, Archetype] = {
    each.__name__: each
    for each in (
        stable, growing, drifting, step_up, step_down, weekly_mode, month_end, empty_runs, partial_runs, bimodal,
        heavy_tails, noisy_neighbours, capacity, query_edit, renamed, spark_upgrade, join_flip, incidents,
    )
}  # fmt: skip
