"""The durations that a run and its stages were expected to take, from the baselines of the job."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Client, Run, Stage
from sparkfuse_rules.knowledge.baseline_model import Expectation
from sparkfuse_rules.knowledge.work import Work

APPLICATION = "application"
"""The fingerprint under which the baseline of the whole application is stored."""
MAX_BASELINES = 2_000


@dataclasses.dataclass(frozen=True)
class ExpectedDuration:
    """What is expected of a whole run for the usual work, and of its stages for their work, by id and attempt."""

    run: Expectation | None
    stages: Mapping[tuple[int, int], Expectation]


def expected_durations(client: Client, run: Run, stages: Sequence[Stage]) -> ExpectedDuration:
    """Return what was expected when the run started; an expectation that the job's earlier runs do not give is absent.

    Raises StoreEmptyError.
    """
    known = {each.stage_fingerprint: each for each in queries.baselines(client, MAX_BASELINES, job_key=run.job_key)}
    found = {}
    for stage in stages:
        baseline = known.get(stage.stage_fingerprint or "")
        if baseline is not None:
            work = Work(stage.work_bytes, stage.work_records) if stage.work_bytes or stage.work_records else None
            expected = queries.explained(baseline, run.app_start_ms, work).expected
            if expected is not None:
                found[stage.stage_id, stage.stage_attempt] = expected
    whole = known.get(APPLICATION)
    return ExpectedDuration(queries.explained(whole, run.app_start_ms).expected if whole else None, found)
