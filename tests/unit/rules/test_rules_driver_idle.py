"""Tests the model of the driver's idle time, in which no job runs."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.baseline import Sample, fit
from sparkfuse_rules.knowledge.driver_idle import fit_driver_idle
from sparkfuse_rules.knowledge.robust import MAX_MS
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of
from sparkfuse_rules.knowledge.training_samples import application_sample, driver_idle_columns

# The smallest difference between two healthy runs.
LEAST = math.log(1.15)
MINUTE = 60_000
runs = st.lists(
    st.tuples(st.integers(1_000, 10_000_000), st.floats(0, 1)).map(lambda run: (run[0], int(run[0] * run[1]))),
    min_size=5, max_size=50,
)  # fmt: skip


def bound(times: list[tuple[int, int]], elapsed_ms: int, between_ms: int) -> int:
    """Return the p95 of the driver's idle time, which is the time without a job."""
    model = fit_driver_idle(times, LEAST)
    assert model is not None
    return model.bound_ms(elapsed_ms, between_ms)


def sample(run: int, elapsed_ms: int, between_ms: int | None) -> Sample:
    return Sample(f"run-{run}", run, elapsed_ms, between_jobs_ms=between_ms)


def usual(seed: int, count: int = 20) -> list[tuple[int, int]]:
    """Return runs with about ten minutes of jobs and two minutes of idle time, each with 10 % noise."""
    chance = random.Random(seed)
    rests = [int(10 * MINUTE * chance.uniform(0.9, 1.1)) for _ in range(count)]
    idle = [int(2 * MINUTE * chance.uniform(0.9, 1.1)) for _ in range(count)]
    return [(rest + wait, wait) for rest, wait in zip(rests, idle, strict=True)]


@given(runs, st.integers(1_000, 10_000_000), st.randoms(use_true_random=False))
def test_order_of_runs_does_not_matter(times: list[tuple[int, int]], rest: int, chance: random.Random):
    shuffled = list(times)
    chance.shuffle(shuffled)

    assert bound(times, rest, 0) == bound(shuffled, rest, 0)


@given(runs, st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_bound_rises_with_the_time_of_jobs(times: list[tuple[int, int]], one: int, other: int):
    """The p95 of idle time rises with the time of jobs: both are longer on busy hosts and with more rows."""
    assert bound(times, min(one, other), 0) <= bound(times, max(one, other), 0)


@given(runs, st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_idle_time_does_not_raise_its_own_bound(times: list[tuple[int, int]], rest: int, between: int):
    assert bound(times, rest + between, between) == bound(times, rest, 0)


@pytest.mark.parametrize("seed", range(10))
def test_thirty_percent_outliers_do_not_move_the_bound(seed: int):
    times = usual(seed)
    with_outliers = [(elapsed + 60 * MINUTE, between + 60 * MINUTE) for elapsed, between in times[:6]] + times[6:]

    assert bound(with_outliers, 12 * MINUTE, 2 * MINUTE) <= 1.5 * bound(times, 12 * MINUTE, 2 * MINUTE)


@pytest.mark.parametrize("seed", range(10))
def test_healthy_runs_stay_below_the_bound(seed: int):
    """Healthy runs stay below the p95 of idle time.

    The tested runs are on an idle host, on a host that is 3.5 times slower, and with three times the rows.
    """
    times = usual(seed)
    for jobs, driver in ((1.0, 1.0), (3.5, 3.5), (3.0, 1.5), (0.33, 1.0)):
        rest, between = int(10 * MINUTE * jobs), int(2 * MINUTE * driver)
        assert between <= bound(times, rest + between, between)


@pytest.mark.parametrize("seed", range(10))
def test_idle_time_of_150_percent_exceeds_the_bound(seed: int):
    times, between = usual(seed), 7 * MINUTE

    assert between > 2 * bound(times, 10 * MINUTE + between, between)


def test_running_application_uses_the_usual_job_time():
    """For a running application, the p95 of idle time is computed from the usual job time.

    For example, a driver that lists files for two minutes before the first job is normal if it does so in each run.
    """
    assert bound(usual(1), 3 * MINUTE, 2 * MINUTE) >= 2 * MINUTE


def test_differences_of_seconds_are_ignored():
    """Differences of a few seconds are ignored, although half a second may be ten times the usual planning time."""
    times = [(5_000, 10)] * 10

    assert 500 < bound(times, 5_500, 500) < 5_000


@pytest.mark.parametrize("between", [-(2**63), -2_000, -1, 10**9, 2**63 - 1])
def test_impossible_times_are_clamped(between: int):
    """A negative idle time, as after a change of the clock, is clamped and does not affect other runs."""
    times, odd = usual(1), (12 * MINUTE, between)

    assert 0 <= bound([*times, odd], 12 * MINUTE, 2 * MINUTE) < 2 * bound(times, 12 * MINUTE, 2 * MINUTE)
    assert bound([(-1, between)] * 5, 0, 0) >= 0


def test_bound_fits_its_column():
    """The p95 of idle time is finite for applications of seconds and of hours."""
    times = [(3_600_000, 0), (3_600_000, 0), (20_000, 19_000), (43_200_000, 43_199_000), (43_200_000, 43_199_000)]

    assert bound(times, 43_200_000, 0) <= MAX_MS


def test_five_runs_with_the_time_are_required():
    """The p95 requires five runs with a known idle time, because samples of older baselines lack this time."""
    old = [sample(run, 60_000, None) for run in range(5)]
    new = [sample(run, 60_000, 5_000) for run in range(5, 10)]
    little, enough = fit(old + new[:4], 100), fit(old + new, 100)
    row = {"elapsed_ms": 60_000, "between_jobs_ms": 5_000}

    assert fit_driver_idle([], LEAST) is None
    assert little is not None
    assert enough is not None
    assert driver_idle_columns(little, row) == {}
    assert driver_idle_columns(enough, {"elapsed_ms": 60_000}) == {}
    assert driver_idle_columns(enough, row).keys() == {"expected_between_p95_ms"}


def test_application_sample_stores_the_time():
    times = {"status": "succeeded", "elapsed_ms": 60_000, "between_jobs_ms": 5_000}
    stored = application_sample("run-1", 1.0, times, 7)

    assert stored is not None
    assert stored.between_jobs_ms == 5_000
    assert sample_of(message_of(stored)) == stored
