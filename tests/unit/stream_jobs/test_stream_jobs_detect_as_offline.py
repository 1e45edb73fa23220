"""Tests that live and offline learn the same samples from a run, and compute the same expected values for the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow, StageLive
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
from sparkfuse_native_analytics.offline.expectations import application_expectation, stage_expectations
from sparkfuse_native_analytics.offline.history_rows import baseline_messages
from sparkfuse_rules.knowledge.training_samples import APPLICATION, plan_of
from sparkfuse_stream_jobs.detect import baselines, row_columns
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.unit.native_analytics.event_log_lines import Run, Stage, Task, counted, even, nightly

CLUSTER, TENANT = "prod-eu", "orders"
HEALTHY = [nightly(day, 60_000 + 500 * day) for day in range(7)]
COUNTED = [counted(day, 60_000 + 500 * day, 10**9) for day in range(7)]


def is_whole(baseline: Baseline) -> bool:
    return baseline.stage_fingerprint == APPLICATION


def without_plan(application: Application) -> list[Baseline]:
    """Return the offline sample of the whole application, without the plan: `Live` has no rows of stages."""
    found = list(baseline_messages(application, CLUSTER, TENANT))
    whole = [each for each in found if is_whole(each)]
    plan = plan_of(each.stage_fingerprint for each in found if not is_whole(each))
    for each in whole:
        assert each.samples[0].plan == plan
        each.samples[0].ClearField("plan")
    return whole


def read(run: Run, folder: Path) -> Application:
    (log,) = find_logs(str(run.write(folder / run.app_id))).logs
    return read_application(log)


def live_rows(application: Application) -> Iterator[LiveRow]:
    """Return the application's rows as the windows job writes them, with the values of the event log."""
    known = AppLive.DESCRIPTOR.fields_by_name
    columns: dict[str, Any] = {name: value for name, value in application.row.items() if name in known}
    members: tuple[dict[str, Any], ...] = (
        {"application_started": {"name": application.name, "properties": {"spark.sparkfuse.job": application.job_key}}},
        {"application": AppLive(**columns)},
        {"application_ended": {"ended_ms": application.ended_ms, "failed_jobs": application.row["failed_jobs"]}},
    )
    for number, member in enumerate(members, 1):
        yield LiveRow(
            cluster=CLUSTER, tenant=TENANT, app_id=application.app_id, app_attempt=application.attempt_number,
            app_start_ms=application.started_ms, window_end_ms=application.until_ms, row_seq=number,
            completeness=application.completeness, **member,
        )  # fmt: skip


class Live:
    """The baselines of a job, stored as in the detect job."""

    def __init__(self) -> None:
        self.baselines = baselines.JobBaselines(InMemoryMapState(), lambda _key: None)

    def process(self, application: Application) -> tuple[dict[str, object], list[Baseline]]:
        """Return the columns of the application, including expected values, and the samples of the run."""
        state, columns, samples = in_memory_run_state(), {}, []
        for found in [each for row in live_rows(application) for each in step(row, state)]:
            if isinstance(found, LiveRow) and found.HasField("application"):
                columns = row_columns.present(baselines.add_expectations(found, self.baselines).application)
            elif isinstance(found, Baseline):
                samples.append(found)
                baselines.learn_sample(found, self.baselines)
        return columns, samples


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(nightly(9, 180_000), id="slow"),
        pytest.param(nightly(9, 61_000), id="healthy"),
        pytest.param(Run([Stage(3, even(170_000, read_bytes=3_000_000))], start_ms=nightly(9, 1).start_ms), id="grown"),
        pytest.param(Run([Stage(3, even(150_000, cpu_ms=60_000))], start_ms=nightly(9, 1).start_ms), id="noisy"),
        pytest.param(Run([Stage(3, [Task(9_000, 0)])], start_ms=nightly(9, 1).start_ms), id="without work"),
    ],
)
def test_live_and_offline_have_the_same_expectations(run: Run, tmp_path: Path):
    """Live detection and offline analysis compute equal samples and equal expected values from the same logs."""
    live, healthy = Live(), [read(each, tmp_path) for each in HEALTHY]
    for application in healthy:
        _, samples = live.process(application)
        [seeded] = without_plan(application)

        assert samples == [seeded]
    application = read(run, tmp_path)
    columns, _ = live.process(application)
    offline = application_expectation(application, EarlierRuns(healthy))

    assert offline["baseline_runs"] == len(HEALTHY)
    assert {name: columns.get(name) for name in offline} == offline


@pytest.mark.parametrize(
    ("run", "moved"),
    [
        pytest.param(counted(9, 180_000, 3 * 10**9), "none", id="three times the rows"),
        pytest.param(counted(9, 180_000, 10**9), "both", id="as many rows"),
    ],
)
def test_live_and_offline_use_the_rows_of_operators(run: Run, moved: str, tmp_path: Path):
    """If application and stage read no input, their work is the number of rows that the plan's operators produce."""
    live, counted_before = Live(), [read(each, tmp_path) for each in COUNTED]
    for application in counted_before:
        _, samples = live.process(application)

        assert samples == without_plan(application)
    application, history = read(run, tmp_path), EarlierRuns(counted_before)
    columns, _ = live.process(application)
    offline = application_expectation(application, history)
    [stage_offline] = stage_expectations(application, history)

    assert {name: columns.get(name) for name in offline} == offline
    assert {name: expected_stage(application, counted_before).get(name) for name in stage_offline} == stage_offline
    assert [(each["moved"], each["work_measure"]) for each in (offline, stage_offline)] == [(moved, "rows")] * 2


def expected_stage(application: Application, before: list[Application]) -> dict[str, object]:
    """Learn the samples of earlier logs, and return the columns of the only stage, including expected values."""
    memory = baselines.JobBaselines(InMemoryMapState(), lambda _key: None)
    for earlier in before:
        for baseline in baseline_messages(earlier, CLUSTER, TENANT):
            if not is_whole(baseline):
                baselines.learn_sample(baseline, memory)
    [columns] = application.stages(*StageLive.DESCRIPTOR.fields_by_name)
    present: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    stage = StageLive(**present)
    row = LiveRow(
        cluster=CLUSTER, tenant=TENANT, job_key=application.job_key, app_start_ms=application.started_ms, stage=stage
    )
    return {"judged_ms": stage.elapsed_ms, **row_columns.present(baselines.add_expectations(row, memory).stage)}


@pytest.mark.parametrize(
    "run", [pytest.param(nightly(0, 1_000, failed=True), id="failed"), pytest.param(nightly(0, 1_000), id="well")]
)
def test_live_and_offline_learn_the_same_runs(run: Run, tmp_path: Path):
    """Only runs that succeeded are learned, live and offline."""
    application = read(run, tmp_path)
    offline = without_plan(application)

    assert Live().process(application)[1] == offline
