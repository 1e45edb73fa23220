"""The durations that a run and its stages were expected to take, from the baselines of the job in the store."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.baseline_rows import Baseline, baselines, explained
from sparkfuse_native_analytics.queries.run_rows import Run, Stage
from sparkfuse_rules.knowledge.baseline_model import Expectation
from sparkfuse_rules.knowledge.training_samples import APPLICATION
from sparkfuse_rules.knowledge.work import Work

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
    """What is expected of a whole run for the usual work, and of its stages for their work, by id and attempt."""

    run: ExpectedDuration | None
    stages: Mapping[tuple[int, int], ExpectedDuration]


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
    found = {}
    for stage in stages:
        baseline = known.get(stage.stage_fingerprint or "")
        if baseline is not None:
            work = Work(stage.work_bytes, stage.work_records) if stage.work_bytes or stage.work_records else None
            expected = _duration(explained(baseline, run.app_start_ms, work).expected)
            if expected is not None:
                found[stage.stage_id, stage.stage_attempt] = expected
    whole = known.get(APPLICATION)
    return ExpectedDurations(_duration(explained(whole, run.app_start_ms).expected) if whole else None, found)


def _is_of(baseline: Baseline, run: Run) -> bool:
    """Return whether cluster and tenant do not differ; an absent one fits every run."""
    pairs = ((baseline.cluster, run.cluster), (baseline.tenant, run.tenant))
    return all(one == other for one, other in pairs if one and other)


def _duration(expected: Expectation | None) -> ExpectedDuration | None:
    if expected is None:
        return None
    return ExpectedDuration(expected.expected_ms, expected.expected_p95_ms, expected.runs, expected.work_measure)
