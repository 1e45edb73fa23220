"""Computes baselines from the event logs of earlier runs, with the functions that the detect job uses."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.executions import Execution, executions_of_stages, is_long_lived
from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit, learn
from sparkfuse_rules.knowledge.long_lived import LearnedTemplate, application_run, learned_after
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
    """The sample of one stage of one run or query, or of the whole application if ``fingerprint`` is ``application``.

    ``stage_id`` is -1 for the application.
    """

    job_key: str
    fingerprint: str
    sample: Sample
    stage_id: int = -1


def training_samples(application: Application) -> list[TrainingSample]:
    """Return the samples of a run; none unless its log contains its start and, if it is not long-lived, its end.

    Of a long-lived application, each successful query is learned, and the application if it ended well. Any other run
    is learned as a whole if it ended well; otherwise only the stages of its successful queries are learned.
    """
    long_lived = is_long_lived(application)
    if application.started_ms is None or (application.ended_ms is None and not long_lived):
        return []
    stages = list(zip(application.stages(*_STAGE_COLUMNS), application.stage_completeness, strict=True))
    well = application.ended_ms is not None and application.ended_well
    executions = {} if well and not long_lived else executions_of_stages(application)
    ended_ms = application.ended_ms or 0
    whole = (application.row, application.completeness)
    samples = samples_of_run(application.job_key, application.run_key, ended_ms, whole, stages)
    if well and not long_lived:
        return samples
    return list(_of_executions(samples, executions, well, long_lived))


def _of_executions(
    samples: Sequence[TrainingSample],
    executions: Mapping[int, Execution],
    well: bool,
    long_lived: bool,
) -> Iterator[TrainingSample]:
    """Yield the samples of a run whose queries are learned."""
    of_executions: list[TrainingSample] = []
    for each in samples:
        execution = executions.get(each.stage_id)
        if execution is None:
            # A stage whose query did not end is learned only with the whole run.
            if well:
                yield each
        elif execution.succeeded and not long_lived:
            yield each
        elif execution.succeeded:
            sample = replace(each.sample, run_key=execution.run_key, learned_ms=execution.ended_ms)
            of_executions.append(replace(each, sample=sample))
    yield from _due(of_executions)


def _due(samples: Iterable[TrainingSample]) -> Iterator[TrainingSample]:
    """Yield the samples of the executions that are learned, in the order in which they ended."""
    templates: dict[str, LearnedTemplate] = {}
    due: dict[tuple[str, str], bool] = {}
    for each in sorted(samples, key=lambda each: (each.sample.learned_ms, each.sample.run_key)):
        template = (each.sample.run_key, each.fingerprint)
        if template not in due:
            after = learned_after(templates.get(each.fingerprint), each.sample.learned_ms)
            due[template] = after is not None
            if after is not None:
                templates[each.fingerprint] = after
        if due[template]:
            yield each


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
            found.append(TrainingSample(job_key, fingerprint, sample, stage["stage_id"]))
    if whole:
        whole = replace(whole, plan=plan_of(each.fingerprint for each in found))
        found.insert(0, TrainingSample(job_key, APPLICATION, whole))
    return found


class EarlierRuns:
    """The training samples of earlier runs. Runs may be added in any order; adding a run again has no effect."""

    def __init__(self, runs: Iterable[Application] = ()) -> None:
        self._samples: dict[tuple[str, str], list[Sample]] = {}
        self._learned: dict[tuple[str, str], _Learned] = {}
        self._run_keys: set[str] = set()
        self._jobs: set[str] = set()
        for run in runs:
            self.add(training_samples(run))

    def add(self, samples: Sequence[TrainingSample]) -> None:
        """Add the samples of one run; a run that was added before is ignored."""
        runs = {application_run(each.sample.run_key) for each in samples}
        if runs & self._run_keys:
            return
        self._run_keys |= runs
        for each in samples:
            key = (each.job_key, each.fingerprint)
            self._samples[key] = [*self._samples.get(key, ()), each.sample]
            self._learned.pop(key, None)
            self._jobs.add(each.job_key)

    def including(self, samples: Sequence[TrainingSample]) -> EarlierRuns:
        """Return a copy that also has the samples of one run."""
        copy = EarlierRuns()
        copy._samples, copy._run_keys, copy._jobs = dict(self._samples), set(self._run_keys), set(self._jobs)
        copy.add(samples)
        return copy

    def knows(self, job_key: str) -> bool:
        """Return whether there is a sample of the job."""
        return job_key in self._jobs

    def runs_of(self, job_key: str) -> int:
        """The number of runs of the job for which there is a sample of the whole application."""
        return len(self._samples.get((job_key, APPLICATION), ()))

    def samples_before(self, started_ms: int, job_key: str, fingerprint: str) -> int:
        """Return the number of samples that were learned before ``started_ms``."""
        return self._of(job_key, fingerprint).count_before(started_ms)

    def baseline_before(self, started_ms: int, job_key: str, fingerprint: str) -> Fit | None:
        """Return the baseline of a stage at ``started_ms``, from the runs that ended before this time.

        Return None if there are too few samples. A run's own samples are never used for the run itself or for an
        earlier run.
        """
        return fit(self._of(job_key, fingerprint).before(started_ms), started_ms)

    def _of(self, job_key: str, fingerprint: str) -> _Learned:
        key = (job_key, fingerprint)
        if key not in self._learned:
            self._learned[key] = _Learned(self._samples.get(key, ()))
        return self._learned[key]


class _Learned:
    """The samples of one baseline, learned one after the other; a caller usually asks for later and later times."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._ordered = sorted(samples, key=lambda each: (each.learned_ms, each.run_key))
        self._ends = [each.learned_ms for each in self._ordered]
        self._count = 0
        self._samples: tuple[Sample, ...] = ()

    def count_before(self, moment_ms: int) -> int:
        """Return the number of samples that were learned before ``moment_ms``."""
        return bisect_left(self._ends, moment_ms)

    def before(self, moment_ms: int) -> tuple[Sample, ...]:
        """Return the samples that a baseline keeps of those learned before ``moment_ms``."""
        count = self.count_before(moment_ms)
        if count < self._count:
            self._count, self._samples = 0, ()
        for sample in self._ordered[self._count : count]:
            self._samples = learn(self._samples, sample)
        self._count = count
        return self._samples
