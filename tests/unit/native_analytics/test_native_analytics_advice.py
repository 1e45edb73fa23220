"""Tests the advice for a job: what is advised, from which evidence, and that healthy jobs get none."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.advice import MIN_RUNS, advise
from sparkfuse_native_analytics.advice.log_runs import successful_runs
from sparkfuse_native_analytics.compare import Attempt, Run, Stage
from sparkfuse_native_analytics.compare.run import Executor
from sparkfuse_native_analytics.queries.job_advice import advice_from
from tests.logs.make_runs import RUNS
from tests.unit.native_analytics.test_native_analytics_compare import UNHURRIED, runs

MINUTE = 60_000
INSTANCES = {"spark.executor.instances": "8"}


def an_attempt(start: int, minutes: float, tasks: int, longest: float | None = None, **more: float) -> Attempt:
    """Return an attempt that starts at a minute; its tasks take some minutes together, and one the given minutes."""
    wall = round(minutes * MINUTE)
    each = wall // tasks
    most = round((longest or 0) * MINUTE) or each
    duration = round(more.pop("duration", 1) * MINUTE)
    end = start * MINUTE + duration
    return Attempt(
        0, start * MINUTE, start * MINUTE, end, end, tasks, wall, wall, float(each), most, 1e6,
        int(more.pop("biggest_bytes", 1e6)), most if longest else each, ended_wall_ms=wall, read_bytes=int(1e6 * tasks),
        gc_ms=int(more.pop("gc_ms", 0)),
    )  # fmt: skip


def job(*tried: Attempt, executors: int = 8, query: int | None = 1, **configuration: str) -> list[Run]:
    """Return five runs with one-core executors; their stages are the attempts."""
    stages = tuple(Stage(str(n), 0, n, f"stage {n}", query, (each,)) for n, each in enumerate(tried))
    end = max(each.completed_ms for each in tried)
    return [
        Run("job", f"app-{day}", day * 1440 * MINUTE, day * 1440 * MINUTE + end, moved(stages, day * 1440 * MINUTE),
            tuple(Executor(1, day * 1440 * MINUTE) for _ in range(executors)),
            configuration=INSTANCES | {key.replace("_", "."): value for key, value in configuration.items()})
        for day in range(MIN_RUNS)
    ]  # fmt: skip


def moved(stages: tuple[Stage, ...], by_ms: int) -> tuple[Stage, ...]:
    """Return stages that start later."""
    times = ("submitted_ms", "launched_ms", "finished_ms", "completed_ms")
    return tuple(
        dataclasses.replace(
            stage,
            attempts=tuple(
                dataclasses.replace(each, **{name: getattr(each, name) + by_ms for name in times})
                for each in stage.attempts
            ),
        )
        for stage in stages
    )


IDLE = job(an_attempt(0, 10, 1, duration=10), an_attempt(10, 2, 2))
BUSY = job(an_attempt(0, 80, 800, duration=10))
SKEWED = job(an_attempt(0, 24, 16, longest=9, duration=10, biggest_bytes=9e6))
COLLECTING = job(an_attempt(0, 80, 80, duration=10, gc_ms=24 * MINUTE), spark_executor_memory="4g")


def test_unused_executors_are_advised_away() -> None:
    """A job whose stages have one or two tasks gets the setting for fewer executors, with its cost."""
    (found,) = advise(IDLE)

    assert (found.kind, found.settings[0].key, found.settings[0].before) == (
        "fewer_executors",
        *next(iter(INSTANCES.items())),
    )
    assert found.settings[0].after == "2"
    assert found.predicted_ms == found.usual_ms == 11 * MINUTE
    assert found.core_ratio == pytest.approx(0.25)
    assert found.low_ms < found.predicted_ms < found.high_ms
    assert [each.app_id for each in found.evidence] == [f"app-{day}" for day in reversed(range(MIN_RUNS))]


def test_more_executors_are_advised_if_the_cost_stays() -> None:
    """A job with many equal tasks in long stages would be twice as fast with twice the executors."""
    (found,) = advise(BUSY)

    assert (found.kind, found.settings[0].after) == ("more_executors", "16")
    assert found.predicted_ms == pytest.approx(5 * MINUTE, rel=0.02)
    assert found.core_ratio == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(
    ("configuration", "key", "after"),
    [
        pytest.param({"spark_sql_adaptive_enabled": "false"}, "spark.sql.adaptive.enabled", "true", id="not adaptive"),
        pytest.param({}, "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "4500000b", id="threshold"),
    ],
)
def test_skew_is_split_by_spark_where_it_can(configuration: dict, key: str, after: str) -> None:
    """Adaptive execution is switched on, or its threshold is lowered below the data of the largest task."""
    (found,) = [each for each in advise(job(SKEWED[0].stages[0].main, **configuration)) if each.kind == "skew"]

    assert [(each.key, each.after) for each in found.settings] == [(key, after)]
    assert found.predicted_ms < 0.6 * found.usual_ms


def test_skew_that_no_setting_splits_is_named() -> None:
    """Without a query, or above the threshold of adaptive execution, the code must change."""
    large = an_attempt(0, 24, 16, longest=9, duration=10, biggest_bytes=9e9)
    without_query = job(SKEWED[0].stages[0].main, query=None)

    for each in (job(large), without_query):
        (found,) = [advice for advice in advise(each) if advice.kind == "skew"]
        assert found.settings == ()
        assert "salting" in found.how


def test_garbage_collection_asks_for_memory() -> None:
    """If a third of the time is garbage collection, half as much memory again is advised."""
    (found,) = [each for each in advise(COLLECTING) if each.kind == "memory"]

    assert [(each.key, each.before, each.after) for each in found.settings] == [
        ("spark.executor.memory", "4g", "6144m")
    ]
    assert found.predicted_ms == pytest.approx(7 * MINUTE, rel=0.02)


@pytest.mark.parametrize(
    ("runs_of_job", "reason"),
    [
        pytest.param(IDLE[:4], "needs 5 successful runs", id="four runs"),
        pytest.param([*IDLE[:4], dataclasses.replace(IDLE[4], configuration={})], "there are 1", id="changed"),
        pytest.param(job(an_attempt(0, 1, 1, duration=0.5)), "start-up determines", id="half a minute"),
        pytest.param(job(IDLE[0].stages[0].main, spark_dynamicAllocation_enabled="true"), "No setting", id="dynamic"),
        pytest.param(job(an_attempt(0, 8, 8), an_attempt(1, 8, 8)), "No setting", id="fitting executors"),
    ],
)
def test_no_advice_has_a_reason(runs_of_job: list[Run], reason: str) -> None:
    """Too few comparable runs, short runs, dynamic allocation and fitting executors give no advice, and a reason."""
    found = advice_from("job", runs_of_job)

    assert found.advice == []
    assert reason in (found.reason or "")


def test_healthy_real_runs_get_no_advice() -> None:
    """Six real healthy runs of one job get no advice."""
    found = successful_runs(find_logs(str(RUNS / f"healthy-{number}.zstd")).logs[0] for number in range(1, 7))

    assert len(found) == 6
    assert advise([run for _, run in found]) == []


@UNHURRIED
@given(runs())
def test_any_run_can_be_judged(run: Run) -> None:
    """Any runs that can be read from logs give advice with a sound interval, or none."""
    same = [dataclasses.replace(run, app_id=f"app-{number}") for number in range(MIN_RUNS)]
    for each in advise(same):
        assert 0 <= each.low_ms <= each.predicted_ms <= each.high_ms
