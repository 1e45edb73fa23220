"""Baselines from the logs of earlier runs, learned by the functions that learn live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit, learn
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY
from sparkfuse_rules.knowledge.training_samples import APPLICATION, application_sample, stage_sample

_TOLD = (
    "stage_id", "stage_attempt", "stage_fingerprint", "status", "elapsed_ms", "num_tasks", "succeeded_tasks",
    "finished_cpu_ms", "work_bytes", "work_records", "operator_rows_max",
)  # fmt: skip
Evidence = tuple[Mapping[str, Any], float]


@dataclass(frozen=True)
class Lesson:
    """What one stage, or the whole, of one run teaches: its job, its fingerprint (or ``application``), its sample."""

    job_key: str
    fingerprint: str
    sample: Sample


def lessons(application: Application) -> list[Lesson]:
    """What a run teaches: nothing unless it ended well, its start was seen and its evidence is complete."""
    ended_ms = application.ended_ms
    if ended_ms is None or application.started_ms is None or not application.ended_well:
        return []
    stages = list(zip(application.stages(*_TOLD), application.stage_completeness, strict=True))
    whole = (application.row, application.completeness)
    return taught(application.job_key, application.run_key, ended_ms, whole, stages)


def taught(
    job_key: str, run_key: str, ended_ms: int, application: Evidence, stages: Sequence[Evidence]
) -> list[Lesson]:
    """What a run that ended well teaches: columns of app_live and of stage_live, each with its completeness."""
    columns, of_whole = application
    whole = application_sample(run_key, of_whole, columns, ended_ms)
    found = [Lesson(job_key, APPLICATION, whole)] if whole else []
    tried_again = {stage["stage_id"] for stage, _ in stages if stage["stage_attempt"]}
    for stage, completeness in stages:
        sample = stage_sample(run_key, completeness, stage, ended_ms)
        fingerprint = stage["stage_fingerprint"]
        if sample and stage["stage_id"] not in tried_again and not fingerprint.startswith(NAME_ONLY):
            found.append(Lesson(job_key, fingerprint, sample))
    return found


class History:
    """What earlier runs taught. Runs may be told in any order and more than once."""

    def __init__(self, runs: Iterable[Application] = ()) -> None:
        self._lessons: dict[tuple[str, str], list[Sample]] = {}
        self._known: set[str] = set()
        for run in runs:
            self.add(lessons(run))

    def add(self, taught: Sequence[Lesson]) -> None:
        """Add what one run taught; a run that is known already adds nothing."""
        runs = {lesson.sample.run_key for lesson in taught}
        if runs & self._known:
            return
        self._known |= runs
        for lesson in taught:
            self._lessons.setdefault((lesson.job_key, lesson.fingerprint), []).append(lesson.sample)

    def runs_of(self, job_key: str) -> int:
        """How many runs of the job taught what they took as a whole."""
        return len(self._lessons.get((job_key, APPLICATION), ()))

    def known_before(self, started_ms: int, job_key: str, fingerprint: str) -> Fit | None:
        """What was known of the stage when a run started: learned in the order in which the earlier runs ended.

        None while that is too little to expect anything. A run never counts for itself or for an earlier one.
        """
        told = [each for each in self._lessons.get((job_key, fingerprint), ()) if each.learned_ms < started_ms]
        samples: tuple[Sample, ...] = ()
        for sample in sorted(told, key=lambda each: (each.learned_ms, each.run_key)):
            samples = learn(samples, sample)
        return fit(samples, started_ms)
