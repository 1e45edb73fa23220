"""Computes baselines from the event logs of earlier runs, with the functions that the detect job uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit, learn
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY
from sparkfuse_rules.knowledge.training_samples import APPLICATION, application_sample, plan_of, stage_sample

_STAGE_COLUMNS = (
    "stage_id", "stage_attempt", "stage_fingerprint", "status", "elapsed_ms", "num_tasks", "succeeded_tasks",
    "finished_cpu_ms", "work_bytes", "work_records", "operator_rows_max", "disk_spilled_bytes",
)  # fmt: skip
# The columns of one row of app_live or stage_live, and the completeness of the row's evidence.
MeasuredRow = tuple[Mapping[str, Any], float]


@dataclass(frozen=True)
class TrainingSample:
    """The sample of one stage of one run, or of the whole application if ``fingerprint`` is ``application``."""

    job_key: str
    fingerprint: str
    sample: Sample


def training_samples(application: Application) -> list[TrainingSample]:
    """Return the samples of a run; empty unless the run succeeded and its log contains its start and its end."""
    ended_ms = application.ended_ms
    if ended_ms is None or application.started_ms is None or not application.ended_well:
        return []
    stages = list(zip(application.stages(*_STAGE_COLUMNS), application.stage_completeness, strict=True))
    whole = (application.row, application.completeness)
    return samples_of_run(application.job_key, application.run_key, ended_ms, whole, stages)


def samples_of_run(
    job_key: str, run_key: str, ended_ms: int, application: MeasuredRow, stages: Sequence[MeasuredRow]
) -> list[TrainingSample]:
    """Return the samples of a successful run from its rows of app_live and stage_live."""
    columns, completeness = application
    whole = application_sample(run_key, completeness, columns, ended_ms)
    found = []
    retried = {stage["stage_id"] for stage, _ in stages if stage["stage_attempt"]}
    for stage, completeness in stages:
        sample = stage_sample(run_key, completeness, stage, ended_ms)
        fingerprint = stage["stage_fingerprint"]
        if sample and stage["stage_id"] not in retried and not fingerprint.startswith(NAME_ONLY):
            found.append(TrainingSample(job_key, fingerprint, sample))
    if whole:
        whole = replace(whole, plan=plan_of(each.fingerprint for each in found))
        found.insert(0, TrainingSample(job_key, APPLICATION, whole))
    return found


class EarlierRuns:
    """The training samples of earlier runs. Runs may be added in any order; adding a run again has no effect."""

    def __init__(self, runs: Iterable[Application] = ()) -> None:
        self._samples: dict[tuple[str, str], list[Sample]] = {}
        self._run_keys: set[str] = set()
        for run in runs:
            self.add(training_samples(run))

    def add(self, samples: Sequence[TrainingSample]) -> None:
        """Add the samples of one run; a run that was added before is ignored."""
        runs = {each.sample.run_key for each in samples}
        if runs & self._run_keys:
            return
        self._run_keys |= runs
        for each in samples:
            self._samples.setdefault((each.job_key, each.fingerprint), []).append(each.sample)

    def runs_of(self, job_key: str) -> int:
        """The number of runs of the job for which there is a sample of the whole application."""
        return len(self._samples.get((job_key, APPLICATION), ()))

    def baseline_before(self, started_ms: int, job_key: str, fingerprint: str) -> Fit | None:
        """Return the baseline of a stage at ``started_ms``, from the runs that ended before this time.

        Return None if there are too few samples. A run's own samples are never used for the run itself or for an
        earlier run.
        """
        earlier = [each for each in self._samples.get((job_key, fingerprint), ()) if each.learned_ms < started_ms]
        samples: tuple[Sample, ...] = ()
        for sample in sorted(earlier, key=lambda each: (each.learned_ms, each.run_key)):
            samples = learn(samples, sample)
        return fit(samples, started_ms)
