"""Tests the predicted durations of a run under one change."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from sparkfuse_native_analytics.compare import Run, Stage
from sparkfuse_native_analytics.compare.run import Executor
from sparkfuse_native_analytics.compare.simulation import CHANGES, Change, predicted_ms, predictions
from tests.unit.native_analytics.test_native_analytics_compare import SECOND, UNHURRIED, a_run, an_attempt, runs

BY_NAME = {each.name: each for each in CHANGES}
WITH_SKEW = an_attempt(active_ms=6 * SECOND, median_wall_ms=286.0, longest_ms=6 * SECOND, biggest_ms=6 * SECOND,
                       median_bytes=286.0, biggest_bytes=6000)  # fmt: skip
WITH_STRAGGLER = dataclasses.replace(WITH_SKEW, biggest_bytes=286)
WITH_FAILURES = an_attempt(active_ms=4 * SECOND, ended_wall_ms=16 * SECOND, failed=8)


@UNHURRIED
@given(runs())
def test_without_a_change_the_duration_is_that_of_the_run(run: Run) -> None:
    """A change that changes nothing predicts exactly the measured duration."""
    assert predicted_ms(run, Change("none", "")) == (run.wall_ms if run.stages else None)


@UNHURRIED
@given(runs())
def test_predictions_have_the_right_sign(run: Run) -> None:
    """Less lost time or more executors never make a run longer; fewer executors never make it shorter."""
    for each in predictions(run):
        assert each.saved_ms <= 0 if each.change == "half_executors" else each.saved_ms >= 0
        assert each.predicted_ms == run.wall_ms - each.saved_ms >= 0


@pytest.mark.parametrize(
    ("attempt", "change", "seconds"),
    [
        pytest.param(WITH_SKEW, "no_skew", 2, id="eight seconds of work in equal tasks on four slots"),
        pytest.param(WITH_STRAGGLER, "no_skew", 6, id="a slow task without more data is no skew"),
        pytest.param(WITH_STRAGGLER, "no_stragglers", 0.6, id="eight tasks of 286 ms on four slots"),
        pytest.param(WITH_SKEW, "twice_executors", 6, id="the task with most data stays the longest"),
        pytest.param(WITH_FAILURES, "no_failures", 2, id="half of the work is repeated"),
        pytest.param(an_attempt(gc_ms=4 * SECOND), "no_gc", 1, id="half of the time is garbage collection"),
        pytest.param(an_attempt(), "half_executors", 4, id="two waves become four"),
        pytest.param(an_attempt(), "twice_executors", 1, id="two waves become one"),
        pytest.param(an_attempt(tasks=4), "twice_executors", 2, id="more slots than tasks are no help"),
    ],
)
def test_duration_of_a_stage_is_predicted(attempt, change: str, seconds: float) -> None:
    """The stage takes as long as its changed tasks on the changed slots; the second before it stays."""
    assert predicted_ms(a_run(attempt), BY_NAME[change]) == pytest.approx((1 + seconds) * 1000, abs=60)


def stage(stage_id: int, start: int, seconds: int, query_id: int | None = None, **more: int) -> Stage:
    """Return a stage of one task for each of four slots that starts at a second and takes some seconds."""
    moved = dataclasses.replace(
        an_attempt(4 * seconds * SECOND, 4, **more), submitted_ms=start * SECOND, launched_ms=start * SECOND,
        finished_ms=(start + seconds) * SECOND, completed_ms=(start + seconds) * SECOND,
    )  # fmt: skip
    return Stage(str(stage_id), 0, stage_id, "", query_id, (moved,))


def run_of(*stages: Stage, until: int) -> Run:
    """Return a run with four slots and some stages, which ends at a second."""
    return Run("job", "app", 0, until * SECOND, stages, (Executor(4, 0),))


def test_pauses_of_the_driver_stay() -> None:
    """A stage starts as long after the last completed stage as in the run: only the work of tasks shrinks."""
    run = run_of(stage(1, 1, 4, gc_ms=8 * SECOND), stage(2, 8, 2), until=11)

    assert predicted_ms(run, BY_NAME["no_gc"]) == 11 * SECOND - 2 * SECOND


def test_short_stage_beside_the_longest_saves_nothing() -> None:
    """A stage that runs while a longer one runs does not determine the duration."""
    run = run_of(stage(1, 1, 8), stage(2, 1, 4, gc_ms=8 * SECOND), until=9)

    assert predicted_ms(run, BY_NAME["no_gc"]) == 9 * SECOND


def test_join_waits_for_both_sides() -> None:
    """If the longer side of a join gets shorter, the join still waits for the other side of the same query."""
    run = run_of(stage(1, 1, 8, 5, gc_ms=24 * SECOND), stage(2, 1, 7, 5), stage(3, 9, 2, 5), until=11)

    assert predicted_ms(run, BY_NAME["no_gc"]) == 10 * SECOND


def test_run_without_stages_has_no_predictions() -> None:
    """Nothing is predicted about a run without stages, and nothing about half of a single slot."""
    single = a_run(an_attempt(slots=1), cores=1)

    assert predictions(run_of(until=5)) == []
    assert "half_executors" not in {each.change for each in predictions(single)}
