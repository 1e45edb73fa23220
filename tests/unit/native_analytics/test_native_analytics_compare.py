"""Tests the comparison of two runs: the parts of a difference add up, and each cause has the right name."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkfuse_native_analytics.compare import Attempt, Run, Stage, compare
from sparkfuse_native_analytics.compare.attribution import PARTS
from sparkfuse_native_analytics.compare.configuration_changes import bears_on, changed
from sparkfuse_native_analytics.compare.critical_path import OUTSIDE, shares
from sparkfuse_native_analytics.compare.difference_causes import CAUSES, cause_of
from sparkfuse_native_analytics.compare.run import Executor
from sparkfuse_native_analytics.compare.shapley import contributions

SECOND = 1000
# No deadline: a shared machine is slow at times, and these tests do not measure time.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def attempts(draw) -> Attempt:
    """Generate any attempt that can be read from a log: times are in order, and no number is negative."""
    moments = sorted(draw(st.lists(st.integers(0, 100_000), min_size=4, max_size=4)))
    numbers = st.integers(0, 10**9)
    rest = {
        each.name: draw(numbers)
        for each in dataclasses.fields(Attempt)[5:]
        if each.name not in {"median_wall_ms", "median_bytes"}
    }
    return Attempt(0, *moments, **rest, median_wall_ms=draw(numbers) / 2, median_bytes=draw(numbers) / 2)


@st.composite
def runs(draw) -> Run:
    """Generate any run, with few fingerprints so that some stages match, and with up to two attempts of a stage."""
    stages = []
    counts: dict[str, int] = {}
    for stage_id in range(draw(st.integers(0, 5))):
        fingerprint = draw(st.sampled_from("abc"))
        tried = draw(st.lists(attempts(), min_size=1, max_size=2))
        numbered = tuple(dataclasses.replace(each, attempt=place) for place, each in enumerate(tried))
        stages.append(
            Stage(fingerprint, counts.get(fingerprint, 0), stage_id, "", draw(st.sampled_from([None, 1])), numbered)
        )
        counts[fingerprint] = counts.get(fingerprint, 0) + 1
    started = draw(st.integers(0, 50_000))
    return Run(
        name="job",
        app_id="app",
        started_ms=started,
        ended_ms=started + draw(st.integers(0, 100_000)),
        stages=tuple(stages),
        executors=tuple(
            draw(
                st.lists(
                    st.builds(Executor, st.integers(1, 64), st.integers(0, 90_000), st.none() | st.integers(0, 90_000)),
                    max_size=3,
                )
            )
        ),
        plans={1: draw(st.lists(st.sampled_from(["Sort", "Exchange", "BroadcastExchange"])))},
        configuration=draw(
            st.dictionaries(
                st.sampled_from(["spark.sql.shuffle.partitions", "spark.memory.fraction"]), st.sampled_from("12")
            )
        ),
    )


@UNHURRIED
@given(runs(), runs())
def test_parts_add_up_for_any_two_runs(before, after) -> None:
    """The parts of stages and the time outside stages add up exactly to the difference in ms, and so do the causes."""
    found = compare(before, after)
    parts = [part for pair in found.stages for part in pair.parts]

    assert all(sum(part.difference_ms for part in pair.parts) == pair.difference_ms for pair in found.stages)
    stages_ms = sum(pair.difference_ms for pair in found.stages)
    outside_ms = sum(each.difference_ms for each in found.outside)
    assert stages_ms + outside_ms == found.difference_ms
    assert sum(value for _, value in found.causes) == found.difference_ms
    assert {part.part for part in parts} <= set(PARTS)
    assert {cause for cause, _ in found.causes} <= set(CAUSES)


@UNHURRIED
@given(runs(), runs())
def test_swap_negates_all_numbers(before, after) -> None:
    """If the two runs are swapped, all numbers are negated, and added stages become removed stages."""
    one, other = compare(before, after), compare(after, before)
    swapped = {"added": "removed", "removed": "added"}

    assert dict(one.causes) == {cause: -value for cause, value in other.causes}
    assert {
        pair.stage.key: {part.part: part.difference_ms for part in pair.parts} for pair in one.stages
    } == {
        pair.stage.key: {swapped.get(part.part, part.part): -part.difference_ms for part in pair.parts}
        for pair in other.stages
    }  # fmt: skip


@UNHURRIED
@given(runs())
def test_run_equals_itself(run) -> None:
    """A run compared with itself has no differing stage, part, property or plan node."""
    found = compare(run, run)

    assert (found.difference_ms, found.causes, found.configuration, found.plan) == (0, (), (), ())
    assert all(not pair.parts and pair.before == pair.after for pair in found.stages)


@UNHURRIED
@given(runs())
def test_shares_add_up_to_the_duration(run) -> None:
    """The shares of stages and the time outside stages add up to the duration of the run."""
    found = shares(run)

    assert sum(found.stages.values()) + sum(found.outside.values()) == run.wall_ms
    assert all(0 <= found.stages[stage.stage_id] <= stage.elapsed_ms for stage in run.stages)
    assert set(found.outside) == set(OUTSIDE)


@UNHURRIED
@given(
    st.dictionaries(st.sampled_from("abcd"), st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1),
)
def test_contributions_are_symmetric_and_add_up(moves) -> None:
    """The contributions of the factors add up to the difference and do not depend on the order of the factors."""
    before = {name: start for name, (start, _) in moves.items()}
    after = {name: end for name, (_, end) in moves.items()}
    found = contributions(lambda values: math.prod(values.values()), before, after)
    turned = contributions(lambda values: math.prod(values.values()), dict(reversed(before.items())), after)

    assert math.isclose(sum(found.values()), math.prod(after.values()) - math.prod(before.values()), abs_tol=1e-6)
    assert all(math.isclose(found[name], turned[name], rel_tol=1e-9, abs_tol=1e-6) for name in found)


def test_joint_effect_is_split_equally() -> None:
    """If the data doubles and the slots halve, 1 s becomes 4 s, and each factor contributes half of the 3 s."""
    found = contributions(lambda v: v["data"] / v["slots"], {"data": 2.0, "slots": 2.0}, {"data": 4.0, "slots": 1.0})

    assert found == {"data": 1.5, "slots": 1.5}


def an_attempt(wall_ms=8 * SECOND, tasks=8, slots=4, active_ms=None, **more) -> Attempt:
    """Return an attempt of eight tasks of one second each on four slots, so it takes two seconds."""
    active = active_ms if active_ms is not None else wall_ms // min(slots, tasks)
    known = {
        "run_ms": wall_ms, "median_wall_ms": wall_ms / tasks, "longest_ms": wall_ms // tasks, "median_bytes": 1000.0,
        "biggest_bytes": 1000, "biggest_ms": wall_ms // tasks, "ended_wall_ms": wall_ms, "read_bytes": 8000,
        "cpu_ms": wall_ms // 2,
    }  # fmt: skip
    return Attempt(0, SECOND, SECOND, SECOND + active, SECOND + active, tasks, wall_ms, **{**known, **more})


def a_run(*tried: Attempt, cores=4, fingerprint="a", configuration=None, **more) -> Run:
    """Return a run with one stage, one second before the stage and no time after it."""
    stage = Stage(fingerprint, 0, 7, "count at job.py", None, tried or (an_attempt(),))
    return Run("job", "app", 0, max(each.completed_ms for each in stage.attempts), (stage,), (Executor(cores, 0),),
               configuration=configuration or {}, **more)  # fmt: skip


PARTITIONS = {"spark.sql.shuffle.partitions": "2"}
MEMORY = {"spark.executor.memory": "512m"}
CASES = {
    "three times the data": (a_run(an_attempt(24 * SECOND, read_bytes=24_000)), "volume", 4000),
    "three times the data in three times the tasks": (
        a_run(an_attempt(24 * SECOND, 24, read_bytes=24_000)), "volume", 4000),
    "one core of four": (a_run(an_attempt(slots=1), cores=1), "capacity", 6000),
    "waiting for the first task": (
        a_run(dataclasses.replace(an_attempt(), launched_ms=6000, finished_ms=8000, completed_ms=8000)),
        "capacity", 5000),
    "two partitions instead of eight": (
        a_run(an_attempt(tasks=2), configuration=PARTITIONS), "configuration", 2000),
    "less memory, more collections": (
        a_run(an_attempt(16 * SECOND, gc_ms=8 * SECOND), configuration=MEMORY), "configuration", 2000),
    "slower code": (a_run(an_attempt(16 * SECOND, cpu_ms=12 * SECOND)), "cost", 2000),
    "one key has most rows": (
        a_run(an_attempt(active_ms=6 * SECOND, median_wall_ms=286.0, longest_ms=6 * SECOND, biggest_ms=6 * SECOND,
                         median_bytes=286.0, biggest_bytes=6000)), "skew", 4000),
    "one slow host": (
        a_run(an_attempt(active_ms=6 * SECOND, median_wall_ms=286.0, longest_ms=6 * SECOND)), "stragglers", 4000),
    "each task fails once": (
        a_run(an_attempt(active_ms=4 * SECOND, ended_wall_ms=16 * SECOND, failed=8)), "failures", 2000),
    "the last task fails at its end": (
        a_run(an_attempt(active_ms=3 * SECOND, ended_wall_ms=9 * SECOND, failed=1)), "failures", 1000),
    "the stage is tried twice": (
        a_run(dataclasses.replace(an_attempt(), tasks=0, wall_ms=0),
              dataclasses.replace(an_attempt(), attempt=1, submitted_ms=3 * SECOND, launched_ms=3 * SECOND,
                                  finished_ms=5 * SECOND, completed_ms=5 * SECOND)), "failures", 2000),
    "another join": (a_run(an_attempt(16 * SECOND), fingerprint="b"), "plan", 2000),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_single_change_is_the_first_cause(case) -> None:
    """If two runs differ in one factor only, this factor is the first cause and explains the whole difference."""
    after, cause, difference_ms = CASES[case]
    found = compare(a_run(), after)

    assert found.difference_ms == difference_ms
    assert found.causes == ((cause, difference_ms),)


def test_concurrent_stage_counts_as_overlap() -> None:
    """A new stage that runs beside a longer stage adds no time to the critical path."""
    alone = Stage("b", 0, 8, "", None, (Attempt(0, 3000, 3000, 4000, 4000),))
    beside = dataclasses.replace(alone, attempts=(Attempt(0, 1000, 1000, 2000, 2000),))
    before, after = a_run(), a_run()
    found = compare(
        dataclasses.replace(before, stages=(*before.stages, alone), ended_ms=4000),
        dataclasses.replace(after, stages=(*after.stages, beside)),
    )

    assert found.causes == (("overlap", -1000),)


def test_unknown_executors_are_not_a_capacity_change() -> None:
    """If the log has no executors, slower tasks are attributed to cost, and never to capacity."""
    found = compare(
        dataclasses.replace(a_run(), executors=()), dataclasses.replace(a_run(an_attempt(16 * SECOND)), executors=())
    )

    assert found.causes == (("cost", 2000),)


def test_time_outside_stages_is_split_by_kind() -> None:
    """The time outside stages is divided into before, between and after stages, with and without executors."""
    stages = tuple(
        Stage(name, 0, place, "", None, (Attempt(0, at, at, at + 1000, at + 1000),))
        for place, (name, at) in enumerate([("a", 1000), ("b", 6000)])
    )
    run = Run("job", "app", 0, 10_000, stages, (Executor(4, 500, 3000), Executor(4, 5000)))

    assert shares(run).outside == {
        "before_first_stage": 1000, "no_executor": 2000, "driver": 2000, "after_last_stage": 3000
    }  # fmt: skip


def test_secret_properties_are_never_compared() -> None:
    """Properties with the name of a secret are excluded, even if they match a prefix of the allow-list."""
    found = changed({}, {"spark.shuffle.io.token": "x", "spark.shuffle.compress": "false"})

    assert [each.key for each in found] == ["spark.shuffle.compress"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("spark.sql.shuffle.partitions", "partitions"),
        ("spark.master", "capacity"),
        ("spark.executor.cores", "capacity"),
        ("spark.sql.autoBroadcastJoinThreshold", "plan"),
        ("spark.executor.memory", "cost"),
    ],
)
def test_bears_on_classifies_properties(key, expected) -> None:
    """Each property is classified by what it affects: number of tasks, slots, plan, or otherwise the cost of work."""
    assert bears_on(key) == expected


def test_unexplained_task_count_counts_as_plan() -> None:
    """A different number of tasks with the same data and configuration is attributed to the plan."""
    assert cause_of("partitions", (), volume_moved=False) == "plan"
