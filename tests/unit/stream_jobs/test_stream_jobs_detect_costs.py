"""Tests how the costs of a finding are computed: from executors, through the allocation in each row, to the finding."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.owners import Owners
from sparkfuse_rules.prices import Prices
from sparkfuse_stream_jobs.detect import loss_rows
from sparkfuse_stream_jobs.detect.finding_costs import fill_application_cost, remaining_ms
from sparkfuse_stream_jobs.detect.findings import FindingBuilder
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
HOUR_MS = 3_600_000
PRICES = Prices("USD", core_hour=0.04, gib_hour=0.005, source="test")


def builder(prices: Prices | None = PRICES) -> FindingBuilder:
    return FindingBuilder.of(load_catalog(), "https://docs.sparkfuse.example", Owners(), prices)


def joined(run: Run, at: int, executor_id: str = "1", cores: int = 8, **more: int) -> LiveRow:
    fields = {"executor_id": executor_id, "host": "h", "cores": cores, "added_ms": at, **more}
    return run.row("executor_added", at, executor_added=fields)


def left(run: Run, at: int, executor_id: str = "1") -> LiveRow:
    return run.row("executor_removed", at, executor_removed={"executor_id": executor_id, "removed_ms": at})


def started(run: Run, **settings: str) -> LiveRow:
    row = run.started(T, **settings)
    row.application_started.master = "yarn"
    memory = {"spark.executor.memory": "15g", "spark.executor.memoryOverhead": "1g"}
    row.application_started.configuration.update(memory)
    return row


def finding_of(rows: list[LiveRow], prices: Prices | None = PRICES):
    """Return the finding of the last row, after all rows passed the identify step."""
    state = in_memory_run_state()
    found = [each for row in rows for each in step(row, state) if isinstance(each, LiveRow)]
    return builder(prices)("stage_slow", found[-1], "warning", T)


def test_cost_counts_executors_while_they_live():
    """Two executors of 8 cores and 16 GiB, one of them for half an hour, cost 1.5 times one executor-hour."""
    run = Run("app-1", T)
    rows = [started(run), joined(run, T), joined(run, T, "2"), left(run, T + HOUR_MS // 2, "2")]
    finding = finding_of([*rows, run.stage(T + HOUR_MS, 900_000)])

    assert finding.runs[0].cost == pytest.approx(1.5 * (8 * 0.04 + 16 * 0.005))
    assert finding.currency == "USD"


def test_row_of_the_application_has_its_cost():
    """The row of a running application has the same cost and the same currency as the application's findings."""
    run, state = Run("app-1", T), in_memory_run_state()
    rows = [started(run), joined(run, T), run.row("app_live", T + HOUR_MS, application={"status": "running"})]
    row = [each for row in rows for each in step(row, state) if isinstance(each, LiveRow)][-1]
    columns = fill_application_cost(row, PRICES).application

    assert columns.cost == pytest.approx(8 * 0.04 + 16 * 0.005)
    assert columns.currency == "USD"


def test_longer_level_has_a_cost_per_month():
    """A longer level costs the time that it loses in a month, at the average cost per time of the run."""
    application = {"status": "succeeded", "elapsed_ms": 2 * HOUR_MS, "level_lost_month_ms": 30 * HOUR_MS}
    row = LiveRow(allocated_core_ms=16 * HOUR_MS, allocated_memory_mib_ms=32 * 1024 * HOUR_MS, application=application)
    columns = fill_application_cost(row, PRICES).application

    assert columns.level_lost_month_cost == pytest.approx(15 * (16 * 0.04 + 32 * 0.005))
    assert not fill_application_cost(LiveRow(application=application), PRICES).application.HasField("cost")


def test_unknown_cost_of_a_row_is_absent():
    """Without prices, or without the executors, the row has no cost and no currency."""
    run, state = Run("app-1", T), in_memory_run_state()
    rows = [started(run), run.row("app_live", T + HOUR_MS, application={"status": "running"})]
    unknown = [each for row in rows for each in step(row, state) if isinstance(each, LiveRow)][-1]
    priced = LiveRow(allocated_core_ms=8, allocated_memory_mib_ms=8, application={"status": "running"})

    for row in (fill_application_cost(unknown, PRICES), fill_application_cost(priced, None)):
        assert not row.application.HasField("cost")
        assert not row.application.HasField("currency")


def unknown_profile(run: Run) -> list[LiveRow]:
    return [started(run), joined(run, T, resource_profile_id=3)]


@pytest.mark.parametrize(
    ("rows", "prices"),
    [
        pytest.param(lambda run: [started(run)], PRICES, id="no executor was seen"),
        pytest.param(lambda run: [joined(run, T)], PRICES, id="the start of the application was lost"),
        pytest.param(unknown_profile, PRICES, id="executor of another resource profile"),
        pytest.param(lambda run: [started(run), joined(run, T)], None, id="costs are switched off"),
    ],
)
def test_unknown_cost_is_absent(rows, prices):
    """If anything about the allocation or the prices is unknown, the finding has no cost and no currency."""
    run = Run("app-1", T)
    finding = finding_of([*rows(run), run.stage(T + HOUR_MS, 900_000, projected_ms=1_800_000)], prices)

    assert not finding.runs[0].HasField("cost")
    assert not finding.runs[0].HasField("cost_avoidable")
    assert not finding.HasField("currency")


def test_cost_is_unknown_beyond_the_limit_of_executors(monkeypatch):
    """If there are more executors than the state can store, the sum would be too low, so the cost is unknown."""
    monkeypatch.setattr(loss_rows, "MAX_EXECUTORS", 1)
    run = Run("app-1", T)
    finding = finding_of([started(run), joined(run, T), joined(run, T, "2"), run.stage(T + HOUR_MS, 900_000)])

    assert not finding.runs[0].HasField("cost")


def test_allocation_ends_with_the_application():
    """Rows after the end of the application do not add to its allocation."""
    run, state = Run("app-1", T), in_memory_run_state()
    ended = {"status": "succeeded", "ended_ms": T + 60_000}
    rows = [started(run), joined(run, T), *(run.row("app_live", T + at, application=ended) for at in (60_000, HOUR_MS))]
    found = [each for row in rows for each in step(row, state) if isinstance(each, LiveRow)]

    assert [row.allocated_core_ms for row in found[-2:]] == [8 * 60_000, 8 * 60_000]


def stage(**columns: object) -> LiveRow:
    return LiveRow(app_start_ms=T, window_end_ms=T + HOUR_MS, stage={"status": "running", "elapsed_ms": 600, **columns})


def application(**columns: object) -> LiveRow:
    return LiveRow(app_start_ms=T, window_end_ms=T + HOUR_MS, application={"status": "running", **columns})


def with_deadline(row: LiveRow, deadline_ms: int) -> LiveRow:
    row.run_deadline_ms = deadline_ms
    return row


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(stage(projected_ms=1000, expected_ms=900), 400, id="projected stage"),
        pytest.param(stage(expected_ms=900), 300, id="stage of earlier runs"),
        pytest.param(stage(projected_ms=600, expected_ms=900), 300, id="projection that has passed"),
        pytest.param(stage(expected_ms=500), None, id="stage beyond its usual end"),
        pytest.param(with_deadline(stage(expected_ms=500), T + HOUR_MS + 70), 70, id="stage before the deadline"),
        pytest.param(with_deadline(stage(), T + 5), None, id="after the deadline"),
        pytest.param(stage(), None, id="no expectation"),
        pytest.param(stage(status="failed", expected_ms=900), None, id="ended stage"),
        pytest.param(application(remaining_ms=77), 77, id="forecast of the application"),
        pytest.param(application(deadline_left_ms=55), 55, id="deadline of earlier runs"),
        pytest.param(application(status="failed", remaining_ms=77), None, id="ended application"),
        pytest.param(with_deadline(LiveRow(window_end_ms=T, job={"job_id": 1}), T + 9), 9, id="a job, by deadline"),
    ],
)
def test_rest_of_the_run_is_known_only_with_an_expectation(row, expected):
    """The remaining time ends at the projected or usual end, else at the deadline; otherwise it is unknown."""
    assert remaining_ms(row) == expected


def test_avoidable_cost_scales_with_the_rest():
    """After one hour, a projected remaining time of half an hour costs half of the run's cost so far."""
    run = Run("app-1", T)
    rows = [started(run), joined(run, T), run.stage(T + HOUR_MS, 900_000, expected_ms=900_000 + HOUR_MS // 2)]
    [found] = finding_of(rows).runs

    assert found.cost_avoidable == pytest.approx(found.cost / 2)
