"""The durations that a run and its stages were expected to take.

The detect job published those of the stages of a live run. For the whole run, and for runs from event logs, they are
computed from the baselines of the job in the store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.baseline_rows import Baseline, baselines, explained
from sparkfuse_native_analytics.queries.run_rows import Run, Stage
from sparkfuse_native_analytics.queries.stage_expectation_rows import StageExpectation, stage_expectations
from sparkfuse_rules.knowledge.baseline_model import Expectation
from sparkfuse_rules.knowledge.training_samples import APPLICATION
from sparkfuse_rules.knowledge.work import NONE, Work

MAX_BASELINES = 2_000


@dataclasses.dataclass(frozen=True)
class ExpectedDuration:
    """The expected duration and its p95 in ms, from ``runs`` earlier runs.

    ``work_measure`` is the measure of the work that the expectation is for: bytes, records or rows; ``none`` means the
    usual work.
    """

    expected_ms: int
    expected_p95_ms: int
    runs: int
    work_measure: str


@dataclasses.dataclass(frozen=True)
class ExpectedDurations:
    """What is expected of a whole run for the usual work, and of its stages for their work, by id and attempt.

    ``published`` has all that the detect job published about the stages.
    """

    run: ExpectedDuration | None
    stages: Mapping[tuple[int, int], ExpectedDuration]
    published: Mapping[tuple[int, int], StageExpectation]


def expected_durations(client: Client, run: Run, stages: Sequence[Stage]) -> ExpectedDurations:
    """Return what was expected when the run started; an expectation that the job's earlier runs do not give is absent.

    Baselines of another cluster or tenant are not used.

    Raises StoreEmptyError.
    """
    known = {
        each.stage_fingerprint: each
        for each in baselines(client, MAX_BASELINES, job_key=run.job_key)
        if _is_of(each, run)
    }
    published = stage_expectations(client, run)
    found = {}
    for stage in stages:
        place = (stage.stage_id, stage.stage_attempt)
        baseline = known.get(stage.stage_fingerprint or "")
        if (of_detect := _published(published.get(place))) is not None:
            found[place] = of_detect
        elif baseline is not None:
            work = Work(stage.work_bytes, stage.work_records) if stage.work_bytes or stage.work_records else None
            expected = _duration(explained(baseline, run.app_start_ms, work).expected)
            if expected is not None:
                found[place] = expected
    whole = known.get(APPLICATION)
    of_run = _duration(explained(whole, run.app_start_ms).expected) if whole else None
    return ExpectedDurations(of_run, found, published)


def _published(record: StageExpectation | None) -> ExpectedDuration | None:
    if record is None or record.expected_ms is None or record.expected_p95_ms is None:
        return None
    measure = record.work_measure or NONE
    return ExpectedDuration(record.expected_ms, record.expected_p95_ms, record.baseline_runs or 0, measure)


def _is_of(baseline: Baseline, run: Run) -> bool:
    """Return whether cluster and tenant do not differ; an absent one fits every run."""
    pairs = ((baseline.cluster, run.cluster), (baseline.tenant, run.tenant))
    return all(one == other for one, other in pairs if one and other)


def _duration(expected: Expectation | None) -> ExpectedDuration | None:
    if expected is None:
        return None
    return ExpectedDuration(expected.expected_ms, expected.expected_p95_ms, expected.runs, expected.work_measure)
