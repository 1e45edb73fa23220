"""Compares findings with the truth, archetype by archetype."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.bench.company_year.job_year import JobYear

# A finding about a level may last so many runs after the recovery, because one run does not prove it.
RECOVERY_RUNS = 3
# A lasting change by this factor is real, so a finding about it is not false. The bars require that one of 1.4 is
# found.
REAL_FACTOR = 1.2
# A drift must be found before the time has grown by this factor.
DRIFT_FACTOR = 2.0


@dataclass(frozen=True)
class Alert:
    """A warning or page of one run; ``rows`` counts the stages and the application that have one."""

    run: int
    warnings: int
    pages: int


@dataclass
class Score:
    """The sums over some jobs. ``delays`` are in runs, 1 for the first slow run; ``factors`` are those of drifts."""

    jobs: int = 0
    job_days: float = 0.0
    stage_runs: int = 0
    warnings: int = 0
    pages: int = 0
    repeated_modes: int = 0
    modes: int = 0
    regressions: int = 0
    delays: list[int] = field(default_factory=list)
    drift_factors: list[float] = field(default_factory=list)
    recoveries: list[int] = field(default_factory=list)

    def add(self, job: JobYear, stage_runs: int, alerts: Iterable[Alert]) -> None:
        """Add the alerts of one job.

        An alert is false if no regression was active or had just ended, and the run is not really slower.
        """
        by_run = {alert.run: alert for alert in alerts}
        healthy = ~job.in_regression(RECOVERY_RUNS) & (job.true_factor < REAL_FACTOR)
        false = [alert for alert in by_run.values() if healthy[alert.run]]
        self.jobs += 1
        self.job_days += job.runs / job.runs_per_day
        self.stage_runs += stage_runs
        self.warnings += sum(alert.warnings for alert in false)
        self.pages += sum(alert.pages for alert in false)
        self._add_modes(job, [alert.run for alert in false if alert.pages])
        for each in job.regressions:
            self._add_regression(job, each.first, each.end, by_run)

    def merged(self, other: Score) -> Score:
        """Return the sums of both."""
        counts = ("jobs", "job_days", "stage_runs", "warnings", "pages", "repeated_modes", "modes", "regressions")
        lists = ("delays", "drift_factors", "recoveries")
        return Score(**{name: getattr(self, name) + getattr(other, name) for name in (*counts, *lists)})

    def share_within(self, runs: int) -> float:
        """Return the share of the regressions that were found within so many runs."""
        return sum(delay <= runs for delay in self.delays) / max(1, self.regressions)

    def _add_modes(self, job: JobYear, paged: list[int]) -> None:
        for mode in np.unique(job.mode[job.mode >= 0]):
            # Consecutive runs are one occurrence of the mode, such as the three last days of a month.
            runs = np.flatnonzero(job.mode == mode)
            occurrence = dict(zip(runs.tolist(), np.cumsum(np.diff(runs, prepend=-9) > 1).tolist(), strict=True))
            self.modes += 1
            self.repeated_modes += len({occurrence[run] for run in paged if run in occurrence}) > 1

    def _add_regression(self, job: JobYear, first: int, end: int, by_run: dict[int, Alert]) -> None:
        self.regressions += 1
        found = next((run for run in range(first, end) if run in by_run), None)
        if found is None:
            return
        self.delays.append(found - first + 1)
        if job.archetype == "drifting":
            self.drift_factors.append(float(job.true_factor[found]))
        after = [run for run in range(end, job.runs) if run in by_run and run < end + 30]
        if end < job.runs:
            self.recoveries.append((after[-1] - end + 1) if after else 0)
