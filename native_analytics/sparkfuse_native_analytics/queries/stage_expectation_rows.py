"""Reads what the detect job published about the stage attempts of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_native_analytics.queries.select import names, select


@dataclass(frozen=True)
class StageExpectation:
    """The latest record about one stage attempt.

    ``expected_ms`` and ``expected_p95_ms`` are for the work of the stage, from ``baseline_runs`` earlier runs.
    ``deadline_ms`` is that of the run in ms since the epoch, and ``deadline_source`` is setting or history. ``cost`` is
    that of ``core_ms``, the core time of the ended tasks, in ``currency``. An unknown value is None.
    """

    stage_id: int
    stage_attempt: int
    query_name: str | None
    baseline_runs: int | None
    expected_ms: int | None
    expected_p95_ms: int | None
    work_measure: str | None
    deadline_ms: int | None
    deadline_source: str | None
    core_ms: int | None
    cost: float | None
    currency: str | None


_EXPECTATIONS = f"""
SELECT {names(StageExpectation)} FROM stage_expectations FINAL
WHERE app_id = {{app_id:String}} AND app_start_ms = {{app_start_ms:Int64}} AND app_attempt = {{app_attempt:Int32}}
ORDER BY stage_id, stage_attempt
"""


def stage_expectations(client: Client, run: Run) -> Mapping[tuple[int, int], StageExpectation]:
    """Return the record of each stage attempt of a run, by id and attempt; a run of an event log has none.

    Raises StoreEmptyError.
    """
    attempt = {"app_id": run.app_id, "app_start_ms": run.app_start_ms, "app_attempt": run.app_attempt}
    found = select(client, StageExpectation, _EXPECTATIONS, attempt)
    return {(each.stage_id, each.stage_attempt): each for each in found}
