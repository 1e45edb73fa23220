"""What is still to come: bounds, order, scale, and that a healthy cold start projects nothing."""

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


def test_what_is_to_come_goes_over_the_slots_in_whole_waves():
    """66 tasks over 16 slots are five waves of the median task, or of the slow one."""
    assert stage_remaining(STAGE) == Remaining(math.ceil(5 * 4_182.5), math.ceil(5 * 6_020.25))


@pytest.mark.parametrize(
    ("change", "remaining"),
    [
        pytest.param({"status": "succeeded"}, None, id="over"),
        pytest.param({"succeeded_tasks": 32}, None, id="two waves: half of them cold"),
        pytest.param({"succeeded_tasks": 33}, Remaining(10 * 4_000, 10 * 6_000), id="the third wave"),
        pytest.param({"succeeded_tasks": 0, "duration_p50_ms": None}, None, id="nothing ended"),
        pytest.param({"running_tasks": 0, "finished_duration_ms": 0}, None, id="no slot is known"),
        pytest.param({"num_tasks": 134}, Remaining(0, 0), id="the last ones run"),
        pytest.param({"num_tasks": 100}, Remaining(0, 0), id="more than there are"),
        pytest.param({"duration_p95_ms": None}, Remaining(20_000, 20_000), id="no slow pace is known"),
        pytest.param({"duration_p50_ms": math.inf}, None, id="no number"),
        # 150 s of tasks in 10 s: 15 ran at once, though the window ended when only one was seen to run.
        pytest.param(
            {"running_tasks": 1, "finished_duration_ms": 150_000},
            Remaining(6 * 4_000, 6 * 6_000),
            id="between two waves",
        ),
    ],
)
def test_when_a_stage_is_projected(change, remaining):
    """Not before the cold tasks are a minority of what the median rests on, and never beyond what is to come."""
    usual = {**STAGE, "elapsed_ms": 10_000, "duration_p50_ms": 4_000.0, "duration_p95_ms": 6_000.0,
             "finished_duration_ms": 0}  # fmt: skip

    assert stage_remaining({**usual, **change}) == remaining


def test_a_stage_that_shares_the_slots_may_have_them_all_soon():
    """Two of sixteen slots are its own while another stage drains: it is not projected over two."""
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
def test_more_tasks_to_come_never_take_less_time(stage, more):
    """Bounds and order: 0 <= median <= slow pace, rising with the tasks."""
    less, longer = stage_remaining(stage), stage_remaining({**stage, "num_tasks": stage["num_tasks"] + more})

    assert (less is None) == (longer is None)
    if less and longer:
        assert 0 <= less.ms <= less.p95_ms
        assert less.ms <= longer.ms
        assert less.p95_ms <= longer.p95_ms


@given(stages, st.integers(0, 10**4))
def test_more_slots_never_take_longer(stage, slots):
    """What is projected over the slots of the whole application is at most what it is without them."""
    alone, shared = stage_remaining(stage), stage_remaining(stage, slots)

    if alone and shared:
        assert shared.ms <= alone.ms
        assert shared.p95_ms <= alone.p95_ms


@given(stages, st.integers(2, 100))
def test_a_machine_that_is_slower_by_a_factor_needs_longer_by_it(stage, factor):
    """Scale: all times alike."""
    times = ("elapsed_ms", "duration_p50_ms", "duration_p95_ms", "finished_duration_ms")
    here, there = stage_remaining(stage), stage_remaining({**stage, **{name: stage[name] * factor for name in times}})

    assert (here is None) == (there is None)
    if here and there:
        assert math.isclose(there.ms, here.ms * factor, rel_tol=1e-9, abs_tol=factor + 1)


@given(st.integers(1, 64), st.integers(1, 40), st.floats(2, 8), st.integers(200, 60_000))
def test_a_cold_start_that_is_healthy_is_never_projected_beyond_what_it_takes(slots, waves, cold, task_ms):
    """The first wave takes up to eight times as long; no look at any moment says more than the truth at even tasks."""
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


def test_the_share_of_the_whole_is_that_of_the_tasks():
    """What a quarter of the tasks read is a quarter of the work."""
    assert share_of_whole({"num_tasks": 8, "succeeded_tasks": 2}) == 0.25
    assert [share_of_whole(each) for each in ({}, {"num_tasks": 8}, {"num_tasks": 8, "succeeded_tasks": 9})] == [
        1.0
    ] * 3


EXPECTED = Expected(92_000, 130_000)


def test_an_application_goes_on_as_its_earlier_runs_and_at_least_as_its_stages():
    """The middle and the bound, given that it runs already; the longer of both sources; nothing known, nothing said."""
    alone = application_remaining(60_000, EXPECTED, None)
    overdue = application_remaining(200_000, EXPECTED, None)

    assert alone.ms == pytest.approx(32_000, rel=0.05)
    assert alone.p95_ms == pytest.approx(70_000, rel=0.05)
    assert 0 < overdue.ms < overdue.p95_ms
    assert application_remaining(60_000, EXPECTED, Remaining(90_000, 95_000)) == Remaining(90_000, 95_000)
    assert application_remaining(60_000, None, Remaining(5, 9)) == Remaining(5, 9)
    assert application_remaining(60_000, None, None) is None


def test_the_chance_to_be_late():
    """One half where the deadline is the expected time, one in twenty at the bound; the higher of both sources."""
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
def test_the_chance_never_falls_while_it_runs_on(one, other, limit, known, stage_ms):
    """Monotone in elapsed, between 0 and 1, and 1 from the deadline on."""
    stages = None if stage_ms is None else Remaining(stage_ms, 2 * stage_ms)
    early, late = (late_chance(at, limit, known, stages) for at in sorted((one, other)))

    assert early is None or late is None or early <= late + 1e-9
    assert all(chance is None or 0 <= chance <= 1 for chance in (early, late))
    assert max(one, other) < limit or late == 1.0


@given(moments, expected, st.integers(2, 50))
def test_what_remains_scales_and_is_ordered(elapsed, known, factor):
    """0 <= middle <= bound; twice as slow, twice as long."""
    here = application_remaining(elapsed, known, None)
    there = application_remaining(elapsed * factor, Expected(known.ms * factor, known.p95_ms * factor), None)

    assert 0 <= here.ms <= here.p95_ms
    assert math.isclose(there.ms, here.ms * factor, rel_tol=1e-3, abs_tol=10 * factor)
