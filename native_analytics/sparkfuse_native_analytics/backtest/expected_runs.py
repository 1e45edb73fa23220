"""Computes the expected values of each run as the detect job does: from the runs that ended before that run started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.backtest.ended_runs import Place, Run
from sparkfuse_native_analytics.offline.earlier_runs import TrainingSample, samples_of_run
from sparkfuse_native_analytics.offline.expectations import expected
from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit, learn
from sparkfuse_rules.knowledge.training_samples import APPLICATION

Columns = Mapping[str, Any]
StageKey = tuple[int, int]
EXPECTED = (
    "baseline_runs", "expected_ms", "expected_p95_ms", "expected_cpu_ms", "expected_cpu_p95_ms", "moved", "work_known",
    "work_measure", "expected_between_p95_ms", "usual_disk_spilled_bytes", "similar_runs", "baseline_span_ms",
    "level_ratio", "level_since_ms", "level_runs", "level_lost_ms", "level_lost_month_ms", "level_due", "level_sudden",
    "level_changes",
)  # fmt: skip


@dataclass(frozen=True)
class ExpectedRun:
    """A run with the columns that baselines fill, for the application and for each stage by its id and attempt.

    ``elapsed_ms`` is the duration of each stage attempt.
    """

    run: Run
    application: Columns
    stages: Mapping[StageKey, Columns]
    elapsed_ms: Mapping[StageKey, int | None]


def expected_runs(
    runs: Iterable[Run], stages: Mapping[Place, Sequence[Columns]], since_ms: int
) -> Iterator[ExpectedRun]:
    """Yield the runs of one job that started at ``since_ms`` or later, with their expected values.

    Runs that started before ``since_ms`` are not yielded, but their samples are used. The expected values are equal to
    those of EarlierRuns.baseline_before.
    """
    baselines = _Baselines(sample for run in runs for sample in _samples(run, stages[run.place]))
    for run in sorted(runs, key=lambda run: (run.started_ms, run.run_key)):
        if run.started_ms >= since_ms:
            baselines.advance_to(run.started_ms)
            elapsed = {(each["stage_id"], each["stage_attempt"]): each["elapsed_ms"] for each in stages[run.place]}
            yield ExpectedRun(run, *_expected(run, stages[run.place], baselines), elapsed)


def _samples(run: Run, stages: Sequence[Columns]) -> list[TrainingSample]:
    if run.ended_ms is None or not run.ended_well:
        return []
    measured = [(stage, stage["completeness"]) for stage in stages if stage["stage_fingerprint"]]
    return samples_of_run(run.job_key, run.run_key, run.ended_ms, (run.row, run.completeness), measured)


class _Baselines:
    """The baselines of one job at a point in time; this point only moves forward."""

    def __init__(self, samples: Iterable[TrainingSample]) -> None:
        order = sorted(samples, key=lambda sample: (sample.sample.learned_ms, sample.sample.run_key))
        self._coming = iter(order)
        self._next = next(self._coming, None)
        self._samples: dict[str, tuple[Sample, ...]] = {}

    def advance_to(self, moment_ms: int) -> None:
        """Add the samples of runs that ended before ``moment_ms``."""
        while self._next is not None and self._next.sample.learned_ms < moment_ms:
            fingerprint, sample = self._next.fingerprint, self._next.sample
            self._samples[fingerprint] = learn(self._samples.get(fingerprint, ()), sample)
            self._next = next(self._coming, None)

    def at(self, fingerprint: str, moment_ms: int) -> Fit | None:
        """Return the fitted baseline of a stage or of the application, from the samples added so far."""
        return fit(self._samples.get(fingerprint, ()), moment_ms)


def _expected(run: Run, stages: Sequence[Columns], baselines: _Baselines) -> tuple[Columns, dict[StageKey, Columns]]:
    fits: dict[str, Fit | None] = {}
    of_stages: dict[StageKey, Columns] = {}
    for stage in stages:
        fingerprint = stage["stage_fingerprint"]
        if fingerprint and fingerprint not in fits:
            fits[fingerprint] = baselines.at(fingerprint, run.started_ms)
        of_stages[stage["stage_id"], stage["stage_attempt"]] = expected(fits.get(fingerprint), stage, running=False)
    return expected(baselines.at(APPLICATION, run.started_ms), run.row, running=False), of_stages
