"""Tests the projection of stages and the forecast of applications."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.projection import (
    Expected,
    Remaining,
    application_remaining,
    late_chance,
    share_of_whole,
    stage_remaining,
)

STAGE = {
    "status": "running", "elapsed_ms": 58_700, "num_tasks": 200, "succeeded_tasks": 118, "running_tasks": 16,
    "duration_p50_ms": 4_182.5, "duration_p95_ms": 6_020.25, "finished_duration_ms": 503_400,
}  # fmt: skip


def test_remaining_tasks_run_in_whole_waves():
    """66 remaining tasks on 16 slots take five waves, each as long as the median task or the p95 task."""
    assert stage_remaining(STAGE) == Remaining(math.ceil(5 * 4_182.5), math.ceil(5 * 6_020.25))


@pytest.mark.parametrize(
    ("change", "remaining"),
    [
        pytest.param({"status": "succeeded"}, None, id="ended"),
        pytest.param({"succeeded_tasks": 32}, None, id="two waves: half of them cold"),
        pytest.param({"succeeded_tasks": 33}, Remaining(10 * 4_000, 10 * 6_000), id="the third wave"),
        pytest.param({"succeeded_tasks": 0, "duration_p50_ms": None}, None, id="no finished task"),
        pytest.param({"running_tasks": 0, "finished_duration_ms": 0}, None, id="slots unknown"),
        pytest.param({"num_tasks": 134}, Remaining(0, 0), id="last tasks running"),
        pytest.param({"num_tasks": 100}, Remaining(0, 0), id="more running than tasks"),
        pytest.param({"duration_p95_ms": None}, Remaining(20_000, 20_000), id="p95 unknown"),
        pytest.param({"duration_p50_ms": math.inf}, None, id="not a number"),
        # 150 s of tasks in 10 s: 15 ran at the same time, although only one ran at the end of the window.
        pytest.param(
            {"running_tasks": 1, "finished_duration_ms": 150_000},
            Remaining(6 * 4_000, 6 * 6_000),
            id="between two waves",
        ),
    ],
)
def test_stage_is_projected_from_the_third_wave(change, remaining):
    """A stage has a projection once more than two waves of tasks have succeeded; it is 0 if no task waits to start."""
    usual = {**STAGE, "elapsed_ms": 10_000, "duration_p50_ms": 4_000.0, "duration_p95_ms": 6_000.0,
             "finished_duration_ms": 0}  # fmt: skip

    assert stage_remaining({**usual, **change}) == remaining


def test_all_slots_of_the_application_count():
    """A stage that uses two of the application's sixteen slots is projected on sixteen slots."""
    sharing = {**STAGE, "running_tasks": 2, "succeeded_tasks": 33, "finished_duration_ms": 66_000}

    assert stage_remaining(sharing).ms > stage_remaining(sharing, 16).ms == math.ceil(11 * 4_182.5)
    assert stage_remaining({**sharing, "succeeded_tasks": 32}, 16) is None


stages = st.fixed_dictionaries({
    "status": st.just("running"),
    "elapsed_ms": st.integers(1, 10**8),
    "num_tasks": st.integers(1, 10**5),
    "succeeded_tasks": st.integers(0, 10**5),
    "running_tasks": st.integers(0, 2_000),
    "duration_p50_ms": st.floats(1, 10**7),
    "duration_p95_ms": st.floats(1, 10**7),
    "finished_duration_ms": st.integers(0, 10**9),
})  # fmt: skip


@given(stages, st.integers(1, 10**4))
def test_projection_rises_with_remaining_tasks(stage, more):
    """The median and the p95 of the remaining time rise with the remaining tasks; 0 <= median <= p95."""
    less, longer = stage_remaining(stage), stage_remaining({**stage, "num_tasks": stage["num_tasks"] + more})

    assert (less is None) == (longer is None)
    if less and longer:
        assert 0 <= less.ms <= less.p95_ms
        assert less.ms <= longer.ms
        assert less.p95_ms <= longer.p95_ms


@given(stages, st.integers(0, 10**4))
def test_more_slots_never_take_longer(stage, slots):
    """The projection on all slots of the application is not longer than that on the slots that the stage uses."""
    alone, shared = stage_remaining(stage), stage_remaining(stage, slots)

    if alone and shared:
        assert shared.ms <= alone.ms
        assert shared.p95_ms <= alone.p95_ms


@given(stages, st.integers(2, 100))
def test_projection_scales_with_durations(stage, factor):
    """If all durations double, the projection doubles."""
    times = ("elapsed_ms", "duration_p50_ms", "duration_p95_ms", "finished_duration_ms")
    here, there = stage_remaining(stage), stage_remaining({**stage, **{name: stage[name] * factor for name in times}})

    assert (here is None) == (there is None)
    if here and there:
        assert math.isclose(there.ms, here.ms * factor, rel_tol=1e-9, abs_tol=factor + 1)


@given(st.integers(1, 64), st.integers(1, 40), st.floats(2, 8), st.integers(200, 60_000))
def test_cold_start_is_never_projected_too_long(slots, waves, cold, task_ms):
    """Even if the first wave is up to eight times slower, the projection never exceeds the real duration."""
    ends = [cold * task_ms + wave * task_ms for wave in range(waves)]
    for wave, ended_ms in enumerate(ends):
        durations = sorted([cold * task_ms] * slots + [task_ms] * slots * wave)
        seen = {
            "status": "running",
            "elapsed_ms": math.ceil(ended_ms),
            "num_tasks": slots * waves,
            "succeeded_tasks": slots * (wave + 1),
            "running_tasks": slots if wave + 1 < waves else 0,
            "duration_p50_ms": float(durations[(len(durations) - 1) // 2]),
            "finished_duration_ms": int(sum(durations)),
        }
        remaining = stage_remaining(seen)

        assert remaining is None or seen["elapsed_ms"] + remaining.ms <= ends[-1] + task_ms + 1


def test_share_of_work_is_the_share_of_tasks():
    """If a quarter of the tasks succeeded, the share is a quarter; without valid numbers of tasks, the share is 1."""
    assert share_of_whole({"num_tasks": 8, "succeeded_tasks": 2}) == 0.25
    assert [share_of_whole(each) for each in ({}, {"num_tasks": 8}, {"num_tasks": 8, "succeeded_tasks": 9})] == [
        1.0
    ] * 3


EXPECTED = Expected(92_000, 130_000)


def test_forecast_uses_runs_and_running_stages():
    """The forecast of the remaining time is the longer of two: from earlier runs and from running stages.

    Without earlier runs and running stages, the forecast is None.
    """
    alone = application_remaining(60_000, EXPECTED, None)
    overdue = application_remaining(200_000, EXPECTED, None)

    assert alone.ms == pytest.approx(32_000, rel=0.05)
    assert alone.p95_ms == pytest.approx(70_000, rel=0.05)
    assert 0 < overdue.ms < overdue.p95_ms
    assert application_remaining(60_000, EXPECTED, Remaining(90_000, 95_000)) == Remaining(90_000, 95_000)
    assert application_remaining(60_000, None, Remaining(5, 9)) == Remaining(5, 9)
    assert application_remaining(60_000, None, None) is None


def test_probability_of_being_late():
    """The probability is 0.5 if the deadline is at the expected duration, and 0.05 if it is at the p95.

    If earlier runs and running stages give different probabilities, the higher one is used.
    """
    assert late_chance(0, 92_000, EXPECTED, None) == pytest.approx(0.5, abs=0.01)
    assert late_chance(0, 130_000, EXPECTED, None) == pytest.approx(0.05, abs=0.005)
    assert late_chance(60_000, 100_000, None, Remaining(40_000, 60_000)) == pytest.approx(0.5, abs=0.01)
    assert late_chance(60_000, 100_000, EXPECTED, Remaining(400_000, 500_000)) > 0.99
    assert late_chance(60_000, 100_000, None, Remaining(0, 0)) == 0.0
    assert late_chance(60_000, 100_000, None, None) is None
    assert late_chance(100_000, 100_000, None, None) == 1.0


moments = st.integers(0, 10**9)
expected = st.tuples(st.integers(1, 10**9), st.floats(1, 50)).map(
    lambda each: Expected(each[0], int(each[0] * each[1]))
)


@given(moments, moments, st.integers(1, 10**9), st.one_of(st.none(), expected), st.one_of(st.none(), moments))
def test_probability_rises_with_elapsed_time(one, other, limit, known, stage_ms):
    """The probability of being late never falls with elapsed time, and is 1 after the deadline."""
    stages = None if stage_ms is None else Remaining(stage_ms, 2 * stage_ms)
    early, late = (late_chance(at, limit, known, stages) for at in sorted((one, other)))

    assert early is None or late is None or early <= late + 1e-9
    assert all(chance is None or 0 <= chance <= 1 for chance in (early, late))
    assert max(one, other) < limit or late == 1.0


@given(moments, expected, st.integers(2, 50))
def test_remaining_time_scales_and_is_ordered(elapsed, known, factor):
    """If all durations double, median and p95 of the remaining time double; 0 <= median <= p95."""
    here = application_remaining(elapsed, known, None)
    there = application_remaining(elapsed * factor, Expected(known.ms * factor, known.p95_ms * factor), None)

    assert 0 <= here.ms <= here.p95_ms
    assert math.isclose(there.ms, here.ms * factor, rel_tol=1e-3, abs_tol=10 * factor)
