"""Tests what the detect job publishes about stage attempts, and when."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.stage_expectation_pb2 import StageExpectation
from sparkfuse_rules.knowledge.money import share_of_cost
from sparkfuse_rules.prices import Prices
from sparkfuse_stream_jobs.detect import stage_expectations
from sparkfuse_stream_jobs.detect.operators.records import STAGE, read_stage, stage_message
from sparkfuse_stream_jobs.detect.stage_expectations import PublishedExpectations, StageContext, expectation_of
from tests.unit.stream_jobs.detect_rows import Run

T, HOUR_MS = 1_795_226_400_000, 3_600_000
PRICES = Prices(currency="EUR", core_hour=1.0, gib_hour=0.0, source="of the test")
CONTEXT = StageContext(8, task_cpus=2, query_name="q2: write parquet to lake/orders")


def judged(elapsed_ms: int = 60_000, **more: Any) -> LiveRow:
    """Return a row of a stage as AcrossRuns has it, with its expected values and the allocation of its run."""
    row = Run("app-1", T).stage(
        T + elapsed_ms, elapsed_ms, sql_execution_id=2, finished_duration_ms=HOUR_MS // 2, **more
    )
    row.job_key, row.run_key, row.owner, row.team = "nightly_orders", "app-1/0", "ann@example.com", "orders"
    row.run_deadline_ms, row.allocated_core_ms, row.allocated_memory_mib_ms = T + HOUR_MS, 2 * HOUR_MS, 1
    row.stage.stage_fingerprint, row.stage.stage_name = "9d2c1e0fa8b34455", "q2: scan orders"
    row.stage.expected_ms, row.stage.expected_p95_ms, row.stage.baseline_runs = 50_000, 70_000, 12
    row.stage.work_measure = "bytes"
    return row


def test_record_has_all_that_is_known():
    """The record has identity, names, expected duration, deadline and cost; a task uses two cores."""
    found = expectation_of(judged(), CONTEXT, PRICES, None)

    assert found == StageExpectation(
        cluster="prod-eu", tenant="orders", app_id="app-1", app_attempt=0, app_start_ms=T, stage_id=3, stage_attempt=0,
        window_end_ms=T + 60_000, status="running", job_key="nightly_orders", run_key="app-1/0",
        owner="ann@example.com", team="orders", stage_fingerprint="9d2c1e0fa8b34455", stage_name="q2: scan orders",
        query_id=2, query_name="q2: write parquet to lake/orders", baseline_runs=12, expected_ms=50_000,
        expected_p95_ms=70_000, work_measure="bytes", deadline_ms=T + HOUR_MS, deadline_source="setting",
        core_ms=HOUR_MS, cost=1.0, currency="EUR",
    )  # fmt: skip


def test_unknown_values_stay_absent():
    """Without history, prices, owner, query and task times, only the identity is published."""
    row = Run("app-1", T).stage(T + 5_000, 5_000)
    names = {field.name for field, _ in expectation_of(row, StageContext(8), None, None).ListFields()}

    assert names == {
        "cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "stage_id", "stage_attempt", "window_end_ms",
        "status",
    }  # fmt: skip


def test_stage_without_prices_has_core_time_and_no_cost():
    """If prices are switched off, the record has the core time, and no cost of 0."""
    found = expectation_of(judged(), CONTEXT, None, None)

    assert (found.core_ms, found.HasField("cost"), found.HasField("currency")) == (HOUR_MS, False, False)


@pytest.mark.parametrize(
    ("cost_so_far", "core_ms", "allocated_ms", "expected"),
    [
        pytest.param(8.0, 250, 1_000, 2.0, id="a quarter of the cores"),
        pytest.param(8.0, 0, 1_000, 0.0, id="no task ended"),
        pytest.param(8.0, 2_000, 1_000, 8.0, id="more than was allocated"),
        pytest.param(None, 250, 1_000, None, id="unknown cost"),
        pytest.param(8.0, 250, 0, None, id="unknown allocation"),
    ],
)
def test_share_of_cost_follows_core_time(cost_so_far, core_ms, allocated_ms, expected):
    """A stage costs its share of the allocated core time, and never more than the application."""
    assert share_of_cost(cost_so_far, core_ms, allocated_ms) == expected


def _due(*rows: LiveRow) -> list[bool]:
    published = PublishedExpectations()
    return [published.is_due(row, CONTEXT) for row in rows]


def _with(row: LiveRow, **values: Any) -> LiveRow:
    for name, value in values.items():
        setattr(row.stage, name, value)
    return row


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(judged(65_000), False, id="only time has passed"),
        pytest.param(_with(judged(), expected_ms=60_000), False, id="expected a fifth longer"),
        pytest.param(_with(judged(), expected_ms=60_001), True, id="expected more than a fifth longer"),
        pytest.param(_with(judged(), expected_p95_ms=50_000), True, id="p95 much shorter"),
        pytest.param(_with(judged(), stage_name="q2: orders ⋈ customers"), True, id="another name"),
        pytest.param(_with(judged(), finished_duration_ms=HOUR_MS), True, id="twice the task time"),
        pytest.param(_with(judged(), stage_attempt=1), True, id="another attempt"),
        pytest.param(_with(judged(), status="succeeded"), True, id="the end"),
    ],
)
def test_running_stage_is_published_again_after_a_large_change(second, expected):
    """A running stage is published first, and then only if a value has changed by more than a fifth."""
    assert _due(judged(), second) == [True, expected]


def test_every_row_of_an_ended_stage_is_published():
    """Task ends that arrive late change the cost of an ended stage, so each of its rows is published."""
    ended = _with(judged(), status="succeeded")

    assert _due(judged(), ended, ended) == [True, True, True]


def test_published_values_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """Beyond the largest number of stages, the values of the stage that was published first are dropped."""
    monkeypatch.setattr(stage_expectations, "MAX_STAGES", 2)
    rows = [_with(judged(), stage_id=number) for number in (1, 2, 3, 3, 1)]

    assert _due(*rows) == [True, True, True, False, True]


@pytest.mark.parametrize("name", ["", "q2: lineitem ⋈ part"])
def test_message_of_a_stage_keeps_row_and_context(name: str):
    """The message from Identify to AcrossRuns has the row of the stage and its context."""
    context = StageContext(16, 4, name)
    message = stage_message(b"\x00row", context)

    assert (message[:1], read_stage(message[1:])) == (STAGE, (b"\x00row", context))
