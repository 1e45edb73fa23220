"""Tests forecasts: of stages from their progress, and of applications from earlier runs, stages and deadline."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow
from sparkfuse_stream_jobs.detect import baselines
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline
from sparkfuse_stream_jobs.detect.forecast import forecast_application
from sparkfuse_stream_jobs.detect.identify import InvalidSetting, step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.unit.stream_jobs.detect_rows import WINDOW_MS as W
from tests.unit.stream_jobs.detect_rows import Run

T, MINUTE, HOUR = 1_795_226_400_000, 60_000, 3_600_000
# More than two waves on eight slots have ended; 31 tasks remain.
THIRD_WAVE: dict[str, Any] = {
    "num_tasks": 64, "succeeded_tasks": 25, "finished_tasks": 25, "running_tasks": 8, "duration_p50_ms": 3_000.0,
    "duration_p95_ms": 5_000.0, "finished_duration_ms": 80_000,
}  # fmt: skip


class ProcessedRuns:
    """Runs of one job; their rows pass through the identify step and the baseline step."""

    def __init__(self) -> None:
        self.baselines: dict[BaselineKey, baselines.JobBaselines] = {}
        self.invalid: list[str] = []

    def rows(self, run_rows: list[LiveRow]) -> list[LiveRow]:
        state, rows = in_memory_run_state(), []
        for found in [each for row in run_rows for each in step(row, state)]:
            if isinstance(found, Baseline):
                baselines.learn_sample(found, self._of(key_of_baseline(found)))
            elif isinstance(found, InvalidSetting):
                self.invalid.append(found.text)
            elif isinstance(found, LiveRow):
                rows.append(self._with_expectations(found))
        return rows

    def _with_expectations(self, row: LiveRow) -> LiveRow:
        if row.HasField("stage") or row.HasField("application"):
            baselines.add_expectations(row, self._of(baselines.key_of_row(row)))
        return forecast_application(row) if row.HasField("application") else row

    def healthy_runs(self, count: int = 6, wall_ms: int = 10 * MINUTE) -> None:
        for number in range(count):
            self.rows(list(Run(f"app-{number}", T + number * HOUR).whole_application(wall_ms + 1_000 * number)))

    def _of(self, key: BaselineKey) -> baselines.JobBaselines:
        return self.baselines.setdefault(key, baselines.JobBaselines(InMemoryMapState(), lambda _key: None))


def running(run: Run, elapsed_ms: int, **more: Any) -> list[LiveRow]:
    """Return the start of a run and one row of its stage."""
    return [
        run.started(run.start_ms),
        run.stage_started(run.start_ms),
        run.stage(run.start_ms + elapsed_ms, elapsed_ms, **more),
    ]


def test_stage_is_projected_from_its_third_wave_on():
    """From the third wave on, the projection of a stage is compared with its expected duration.

    Before the third wave the elapsed time is compared, and after the stage's end its duration.
    """
    run = Run("app-1", T)
    early = ProcessedRuns().rows(running(run, 30_000, **{**THIRD_WAVE, "succeeded_tasks": 16}))[-1].stage
    third = ProcessedRuns().rows(running(Run("app-1", T), 30_000, **THIRD_WAVE))[-1].stage
    over = ProcessedRuns().rows([run.stage_done(T + W, 30_000)])[-1].stage

    assert (early.judged_ms, early.HasField("projected_ms")) == (30_000, False)
    assert (third.projected_ms, third.projected_p95_ms, third.judged_ms) == (42_000, 50_000, 42_000)
    assert (over.judged_ms, over.HasField("projected_ms")) == (30_000, False)


@pytest.mark.parametrize(
    ("executors", "joined_ms", "task_cpus", "projected_ms"),
    [
        pytest.param(2, 0, None, 42_000, id="eight slots"),
        pytest.param(3, 0, None, 39_000, id="twelve slots, four of them used by another stage"),
        pytest.param(4, 0, None, None, id="sixteen slots: the second wave"),
        pytest.param(4, 0, "2", 42_000, id="sixteen cores, two for each task"),
        pytest.param(2, 45_000, None, None, id="one joined fifteen seconds ago, others may follow"),
        pytest.param(1, 0, None, 42_000, id="fewer than run: one start was lost"),
    ],
)
def test_projection_uses_the_slots_of_the_application(executors, joined_ms, task_cpus, projected_ms):
    """The projection uses all slots of the application, so a healthy stage that had fewer slots so far is not slow."""
    run = Run("app-1", T)
    start = run.started(T)
    if task_cpus:
        start.application_started.configuration["spark.task.cpus"] = task_cpus
    joins = [run.executor_added(T, str(number), "node-1") for number in range(executors)]
    joins[-1].window_end_ms = T + joined_ms
    begin = [start, *joins, run.stage_started(T)]
    stage = ProcessedRuns().rows([*begin, run.stage(T + 60_000, 30_000, **THIRD_WAVE)])[-1].stage

    assert (stage.projected_ms if stage.HasField("projected_ms") else None) == projected_ms


def test_cores_of_removed_executor_do_not_count():
    """Cores of a removed executor are not counted as slots. In local mode the driver's cores run the tasks."""
    run, state = Run("app-1", T), in_memory_run_state()
    rows = [run.started(T), *(run.executor_added(T, name) for name in ("driver", "1", "2", "2"))]
    for row in [*rows, run.executor_removed(T, "1")]:
        list(step(row, state))

    assert state.application.value().cores == 8
    assert state.losses.value().peak == 2


def test_slow_stage_is_reported_before_it_exceeds_its_p95():
    """A slow stage is reported as soon as its projection exceeds the p95, before its elapsed time does."""
    runs = ProcessedRuns()
    runs.healthy_runs()
    slow = {**THIRD_WAVE, "num_tasks": 160, "duration_p50_ms": 200_000.0, "finished_duration_ms": 8 * 8 * MINUTE,
            "work_bytes": 150_000_000, "work_records": 750_000}  # fmt: skip
    stage = runs.rows(running(Run("app-x", T + 9 * HOUR), 8 * MINUTE, **slow))[-1].stage

    assert stage.elapsed_ms < stage.expected_p95_ms < stage.judged_ms
    assert stage.moved == "both"


@pytest.mark.parametrize("times", [1, 3], ids=["usual", "three times the rows"])
def test_healthy_run_is_normal_in_every_window(times: int):
    """A healthy run is normal in each window.

    The first wave of the run is cold, and its work is the usual work or three times as much.
    """
    runs = ProcessedRuns()
    runs.healthy_runs(wall_ms=160_000)
    run, slots, tasks, cold_ms, task_ms = Run("app-x", T + 9 * HOUR), 8, 128 * times, 40_000, 8_000
    rows, now = [run.started(run.start_ms), run.stage_started(run.start_ms)], 0
    while (now := now + W) < cold_ms + task_ms * (tasks // slots - 1):
        waves = 0 if now < cold_ms else 1 + (now - cold_ms) // task_ms
        ended, warm = waves * slots, max(0, waves - 1) * slots
        durations = sorted([cold_ms] * (ended - warm) + [task_ms] * warm)
        done: dict[str, Any] = {
            "num_tasks": tasks,
            "succeeded_tasks": ended,
            "finished_tasks": ended,
            "running_tasks": slots,
        }
        if durations:
            done |= {"duration_p50_ms": float(durations[ended // 2]), "duration_p95_ms": float(durations[-1])}
        done |= {"finished_duration_ms": sum(durations), "finished_cpu_ms": 7 * now}
        done |= {"work_bytes": 1_000_000_000 * ended // 128, "work_records": 5_000_000 * ended // 128}
        rows.append(run.stage(run.start_ms + now, now, **done))
    stages = [row.stage for row in runs.rows(rows) if row.HasField("stage")]

    assert len(stages) > 20
    assert any(stage.HasField("projected_ms") for stage in stages)
    assert {stage.moved for stage in stages} == {"none"}


def test_stage_row_shows_whether_it_runs_python():
    """A stage row shows whether the stage's operators run Python.

    The column is absent if the start of the stage was lost.
    """
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T, scope_names=["Exchange", "ArrowEvalPython"])]
    python = ProcessedRuns().rows([*begin, run.stage(T + W, 900)])[-1].stage
    plain = ProcessedRuns().rows(running(Run("app-1", T), 900))[-1].stage
    unknown = ProcessedRuns().rows([Run("app-1", T).stage(T + W, 900)])[-1].stage

    assert (python.runs_python, plain.runs_python) == (True, False)
    assert not unknown.HasField("runs_python")


def application(runs: ProcessedRuns, run: Run, elapsed_ms: int, deadline: str | None = None, **stage: Any) -> AppLive:
    """Return the application's row after ``elapsed_ms``, with one running stage."""
    settings = {"deadline": deadline} if deadline else {}
    at = run.start_ms + elapsed_ms
    rows = [run.started(run.start_ms, **settings), run.stage_started(run.start_ms)]
    return runs.rows([*rows, run.stage(at, 30_000, **stage), run.application(at)])[-1].application


def test_deadline_from_a_setting_has_risk_and_time_left():
    """A row has the probability that the application misses its deadline.

    If ten minutes are expected, a deadline after an hour is safe and one after nine minutes is at risk. A passed
    deadline is certainly missed.
    """
    runs = ProcessedRuns()
    runs.healthy_runs()
    found = {
        setting: application(runs, Run("app-x", T + 9 * HOUR), 8 * MINUTE, setting)
        for setting in ("1h", "9min", "PT8M", "1min")
    }

    assert {each.deadline_source for each in found.values()} == {"setting"}
    assert found["1h"].deadline_ms == T + 10 * HOUR
    assert [each.deadline_left_ms for each in found.values()] == [52 * MINUTE, MINUTE, 0, -7 * MINUTE]
    assert found["1h"].late_chance < 0.001
    assert found["9min"].late_chance > 0.5
    assert found["PT8M"].late_chance == found["1min"].late_chance == 1.0
    assert found["1h"].remaining_ms == pytest.approx(2 * MINUTE, rel=0.2)
    assert found["1h"].remaining_ms < found["1h"].remaining_p95_ms


def test_deadline_without_a_setting_is_the_p95_of_history():
    """Without a setting, the deadline is the p95 of earlier runs. The row names the source of the deadline."""
    runs = ProcessedRuns()
    runs.healthy_runs()
    columns = application(runs, Run("app-x", T + 9 * HOUR), MINUTE)

    assert (columns.deadline_source, columns.deadline_ms) == ("history", T + 9 * HOUR + columns.expected_p95_ms)
    assert columns.late_chance == pytest.approx(0.05, abs=0.03)


def test_forecast_without_history_uses_progress_and_clock():
    """Without earlier runs, the forecast uses the progress of stages.

    Without progress, the probability is absent until the deadline, and 1 after the deadline.
    """
    alone = application(ProcessedRuns(), Run("app-1", T), MINUTE, "1h")
    staged = application(
        ProcessedRuns(), Run("app-1", T), 55 * MINUTE, "1h", **{**THIRD_WAVE, "duration_p50_ms": 100_000.0}
    )
    late = application(ProcessedRuns(), Run("app-1", T), 61 * MINUTE, "1h")
    none = application(ProcessedRuns(), Run("app-1", T), MINUTE)

    assert not alone.HasField("late_chance")
    assert not alone.HasField("remaining_ms")
    assert staged.remaining_ms == 400_000
    assert staged.late_chance > 0.9
    assert late.late_chance == 1.0
    assert not none.HasField("deadline_ms")


def test_outdated_progress_is_ignored():
    """Outdated progress is ignored, and an ended application has no remaining time."""
    run, runs = Run("app-1", T), ProcessedRuns()
    stage = run.stage(T + W, 30_000, **THIRD_WAVE)
    rows = [
        run.started(T),
        run.stage_started(T),
        stage,
        run.application(T + 2 * W),
        run.application_done(T + 3 * W, 2 * W),
    ]
    *_, later, over = (row.application for row in runs.rows(rows))

    assert not later.HasField("remaining_ms")
    assert not over.HasField("remaining_ms")
    assert not over.HasField("late_chance")


def test_invalid_deadline_is_reported_once():
    """An invalid deadline is reported once to the owner of the job. The run is tracked without a deadline."""
    runs = ProcessedRuns()
    columns = application(runs, Run("app-1", T), MINUTE, "half past six")

    assert len(runs.invalid) == 1
    assert runs.invalid[0].startswith("app-1 of nightly_orders: spark.sparkfuse.deadline='half past six' is ignored")
    assert not columns.HasField("deadline_ms")
