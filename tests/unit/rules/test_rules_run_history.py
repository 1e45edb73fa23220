"""Tests what earlier runs say about a run: similar runs, and a level that has changed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from sparkfuse_rules.knowledge.baseline import fit, learn
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.retention import REFERENCE
from sparkfuse_rules.knowledge.training_samples import expected_columns

DAY_MS = 24 * 3_600_000


def sample(number: int, factor: float, rng: random.Random, noise: float = 0.08, cpu_factor: float = 1.0) -> Sample:
    size = math.exp(rng.gauss(0, 0.1))
    wall_ms = round(1_800_000 * size * factor * math.exp(rng.gauss(0, noise)))
    cpu_ms = round(5_000_000 * size * cpu_factor * math.exp(rng.gauss(0, 0.03)))
    return Sample(f"run-{number}", number * DAY_MS + wall_ms, wall_ms, cpu_ms, round(10**9 * size), round(10**7 * size))


def replayed(
    factor: Callable[[int], float], runs: int, *, cpu: bool = True, noise: float = 0.08, seed: int = 1
) -> tuple[list[dict[str, Any]], tuple[Sample, ...]]:
    """Return the columns of each run, compared with the runs before it, and the samples after the last run."""
    known: tuple[Sample, ...] = ()
    rng, rows = random.Random(seed), []
    for number in range(runs):
        new = sample(number, factor(number), rng, noise, factor(number) if cpu else 1.0)
        fitted = fit(known, new.learned_ms - new.wall_ms)
        rows.append(expected_columns(fitted.at(new.work), new.wall_ms, new.cpu_ms) if fitted else {})
        known = learn(known, new)
    return rows, known


def changed(rows: list[dict[str, Any]]) -> list[int]:
    return [number for number, row in enumerate(rows) if "level_ratio" in row]


@pytest.mark.parametrize("cpu", [True, False], ids=["CPU time too", "only wall time"])
@pytest.mark.parametrize("seed", range(4))
def test_step_is_found_within_three_runs(seed, cpu):
    """A step of 1.5 times is a changed level at its third run, stays one, and ends with the recovery."""
    rows, _ = replayed(lambda number: 1.5 if 40 <= number < 60 else 1.0, 70, cpu=cpu, seed=seed)

    assert changed(rows)[0] in (41, 42)
    assert len(set(range(42, 60)) & set(changed(rows))) >= 16
    assert changed(rows)[-1] <= 60
    assert 1.3 < rows[52]["level_ratio"] < 1.7
    assert rows[52]["level_runs"] in (12, 13)
    assert abs(rows[52]["level_since_ms"] - 40 * DAY_MS) < 2 * DAY_MS
    assert rows[52]["level_lost_month_ms"] == pytest.approx(30 * rows[52]["level_lost_ms"], rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_drift_is_found_before_twice_the_time(seed):
    """A drift of 2 % a run is a changed level before the time has doubled, and remains one."""
    rows, _ = replayed(lambda number: 1.02 ** max(0, number - 30), 100, seed=seed)

    assert 1.02 ** (changed(rows)[0] - 30) < 1.7
    assert set(range(70, 100)) <= set(changed(rows))


@pytest.mark.parametrize("noise", [0.05, 0.15, 0.4])
def test_noise_is_no_changed_level(noise):
    """In two years without a change, the level changes at most once, whatever the noise."""
    rows = [replayed(lambda _: 1.0, 365, noise=noise, seed=seed)[0] for seed in range(2)]

    assert sum(number - 1 not in changed(each) for each in rows for number in changed(each)) <= 1


def test_mode_of_three_days_is_a_changed_level_once():
    """If three runs in a row take three times as long each month, only the first time is a changed level."""
    rows, _ = replayed(lambda number: 3.0 if number % 30 >= 27 else 1.0, 240)

    assert changed(rows) == [29]


def reported(rows: list[dict[str, Any]]) -> list[int]:
    return [number for number, row in enumerate(rows) if row.get("level_due")]


@pytest.mark.parametrize("seed", range(4))
def test_lasting_level_is_reported_once_a_week(seed):
    """A level that lasts forty days is reported when it is found, and then once a week."""
    rows, _ = replayed(lambda number: 2.0 if number >= 40 else 1.0, 80, seed=seed)
    gaps = [after - before for before, after in pairwise(reported(rows))]

    assert reported(rows)[0] in (41, 42)
    assert len(gaps) >= 4
    assert all(7 <= gap <= 9 for gap in gaps)


def test_level_that_rises_is_reported_at_once():
    """If the duration rises again three runs after the report of a level, the higher level is reported at once."""
    rows, _ = replayed(lambda number: 4.0 if number >= 45 else 2.0 if number >= 40 else 1.0, 50)

    assert reported(rows)[0] <= 42
    assert [number for number in reported(rows) if 45 <= number <= 47]


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_bimodal_job_is_seldom_a_changed_level(share):
    """If runs are slow at random, a few slow runs in a row are rarely a changed level."""
    slow = [random.Random(number).random() < share for number in range(400)]
    rows, _ = replayed(lambda number: 3.0 if slow[number] else 1.0, 400)

    assert len(reported(rows)) <= 4


def test_day_of_slow_runs_is_a_changed_level_once():
    """If all six runs of one day of the week are slow, only the first such day is a changed level."""
    rows, known = replayed(lambda number: 3.0 if number % 42 >= 36 else 1.0, 420)

    assert [number for number in changed(rows) if number >= 42] == []
    assert max(each.slow_runs for each in known) >= 5


@pytest.mark.parametrize(
    ("factor", "sudden"),
    [(lambda number: 1.5 if number >= 40 else 1.0, True), (lambda n: 1.01 ** max(0, n - 20), False)],
)
def test_gradual_rise_is_distinguished_from_a_step(factor, sudden):
    """A step is sudden; a rise of one percent a run is not."""
    rows, _ = replayed(factor, 90)

    assert {rows[number].get("level_sudden", sudden) for number in changed(rows)} == {sudden}


def test_lower_level_becomes_the_reference():
    """After a run has become twice as fast for some time, its old duration is a changed level."""
    rows, known = replayed(lambda number: 0.5 if 30 <= number < 60 else 1.0, 70)

    assert changed(rows)[0] in (61, 62)
    assert min(each.learned_ms for each in known if each.reference) >= 30 * DAY_MS


def test_monthly_mode_has_similar_runs_from_the_second_time_on():
    """If every thirtieth run takes four times as long, only the first of these runs has no similar run."""
    rows, known = replayed(lambda number: 4.0 if number % 30 == 29 else 1.0, 240)
    slow = [row["similar_runs"] for row in rows[29::30]]

    assert slow[0] == 0
    assert all(slow[1:])
    assert len(known) <= 50
    assert sum(each.reference for each in known) == REFERENCE


def test_slower_run_never_has_more_similar_runs():
    """The longer a run takes, the fewer earlier runs were as slow."""
    _, known = replayed(lambda number: 4.0 if number % 7 == 6 else 1.0, 60)
    expectation = fit(known, 10**15).at(known[-1].work)
    similar = [expected_columns(expectation, minutes * 60_000, None)["similar_runs"] for minutes in range(1, 300, 10)]

    assert similar == sorted(similar, reverse=True)
    assert similar[-1] == 0
