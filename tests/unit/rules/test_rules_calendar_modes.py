"""Tests calendar modes: days of the week or of the month on which a job always takes longer."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest

from sparkfuse_rules.knowledge.baseline import fit, learn
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.calendar_modes import NO_MODES, USUAL, DatedResidual, calendar_modes, days_of
from sparkfuse_rules.knowledge.training_samples import expected_columns

DAY_MS = 24 * 3_600_000
FIRST = dt.datetime(2025, 1, 1, 2, tzinfo=dt.UTC)
FIRST_MS = int(FIRST.timestamp() * 1000)


def date_of(number: int) -> dt.datetime:
    return FIRST + dt.timedelta(days=number)


def is_sunday(number: int) -> bool:
    return date_of(number).weekday() == 6


def is_month_end(number: int) -> bool:
    return date_of(number + 1).day == 1


def replayed(factor: Callable[[int], float], runs: int) -> tuple[list[dict[str, Any]], tuple[Sample, ...]]:
    """Return the columns of each daily run, compared with the runs before it, and the samples after the last run."""
    known: tuple[Sample, ...] = ()
    rng, rows = random.Random(7), []
    for number in range(runs):
        started_ms = FIRST_MS + number * DAY_MS
        wall_ms = round(1_800_000 * factor(number) * (1 + rng.uniform(-0.1, 0.1)))
        new = Sample(f"run-{number}", started_ms + wall_ms, wall_ms, 3 * wall_ms, 10**9, 10**7)
        fitted = fit(known, started_ms)
        rows.append(expected_columns(fitted.at(new.work), new.wall_ms, new.cpu_ms) if fitted else {})
        known = learn(known, new, fitted=fitted)
    return rows, known


@pytest.mark.parametrize(
    ("slow", "first_known"), [(is_sunday, 40), (is_month_end, 125)], ids=["Sundays", "last days of months"]
)
def test_slow_days_are_expected_to_be_slow(slow, first_known):
    """After three slow days of one kind, the next such day is expected to be as slow, and other days are not."""
    rows, _ = replayed(lambda number: 3.0 if slow(number) else 1.0, 300)
    later = list(enumerate(rows))[first_known:]
    expected = {of: [row["expected_ms"] for number, row in later if slow(number) is of] for of in (True, False)}

    assert min(expected[True]) > 4_500_000
    assert max(expected[False]) < 2_100_000
    assert {row["moved"] for _, row in later} <= {"none", "cpu"}
    assert not [number for number, row in later if "level_ratio" in row]


def test_regression_on_a_usual_day_is_no_mode():
    """If Sundays always take three times as long, a Tuesday that does so has no similar run."""
    rows, _ = replayed(lambda number: 3.0 if is_sunday(number) or number == 181 else 1.0, 190)

    assert date_of(181).strftime("%A") == "Tuesday"
    assert (rows[181]["moved"], rows[181]["similar_runs"]) == ("both", 0)


def test_regression_on_a_slow_day_is_found():
    """If Sundays take three times as long, a Sunday that takes nine times as long is above its p95."""
    rows, _ = replayed(lambda number: 9.0 if number == 186 else 3.0 if is_sunday(number) else 1.0, 190)

    assert is_sunday(186)
    assert rows[186]["moved"] == "both"


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_runs_that_are_slow_at_random_are_no_mode(share):
    """Slow runs on random days are no calendar mode."""
    found = 0
    for seed in range(40):
        rng = random.Random(seed)
        runs = [DatedResidual(FIRST_MS + day * DAY_MS, rng.gauss(1.0 if rng.random() < share else 0.0, 0.1), None)
                for day in range(50)]  # fmt: skip
        found += bool(calendar_modes(runs).shifts)

    assert found <= 2


def test_order_of_runs_does_not_matter():
    """The modes depend on the set of runs only."""
    runs = [DatedResidual(FIRST_MS + day * DAY_MS, 1.0 if is_sunday(day) else 0.0, 1.0 if is_sunday(day) else 0.0)
            for day in range(40)]  # fmt: skip
    shuffled = random.Random(1).sample(runs, len(runs))

    assert calendar_modes(runs) == calendar_modes(shuffled)
    assert calendar_modes(runs).at(FIRST_MS + 4 * DAY_MS) == (1.0, 1.0)
    assert calendar_modes(runs).at(FIRST_MS) == USUAL
    assert calendar_modes(runs[:12]) == NO_MODES


def test_days_have_their_names():
    """A day has the name of its weekday, and of the first and last days of its month."""
    names = days_of(int(dt.datetime(2025, 2, 27, 23, tzinfo=dt.UTC).timestamp() * 1000))

    assert names == ("Thursday", "1 days before the last day of the month")
    assert days_of(FIRST_MS) == ("Wednesday", "day 1 of the month")
    assert days_of(FIRST_MS + 30 * DAY_MS) == ("Friday", "last day of the month")
