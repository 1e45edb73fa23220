"""Tests the description of a longer level: what changed with it, and its acceptance by a person."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sparkfuse_rules.knowledge.baseline import accept, fit, learn
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.level_changes import NOTHING, level_changes
from sparkfuse_rules.knowledge.training_samples import expected_columns, plan_of

DAY_MS = 24 * 3_600_000
RUNS, CHANGED_AT = 34, 28


def run(number: int, wall_ms: int = 1_800_000, **columns: Any) -> Sample:
    noise = 1 + random.Random(number).uniform(-0.05, 0.05)
    usual = {"cpu_ms": 5_000_000, "work_bytes": 10**9, "num_tasks": 200}
    kept = {"spark_version": "3.5.1", "executors": 10, "plan": "a1"}
    return Sample(f"run-{number}", number * DAY_MS + wall_ms, round(wall_ms * noise), **{**usual, **kept, **columns})


def job(factor: float = 2.0, **columns: Any) -> list[Sample]:
    """Return the runs of a job that takes ``factor`` times as long, with other ``columns``, from one run on."""
    return [run(number, *([round(1_800_000 * factor)] if number >= CHANGED_AT else []),
                **(columns if number >= CHANGED_AT else {})) for number in range(RUNS)]  # fmt: skip


def learned(samples: list[Sample]) -> tuple[Sample, ...]:
    known: tuple[Sample, ...] = ()
    for each in samples:
        known = learn(known, each)
    return known


def columns_of(known: tuple[Sample, ...], new: Sample) -> dict[str, Any]:
    fitted = fit(known, new.learned_ms - new.wall_ms)
    return expected_columns(fitted.at(new.work), new.wall_ms, new.cpu_ms)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, NOTHING),
        ({"spark_version": "4.0.0", "plan": "b2"}, "Spark 3.5.1 → 4.0.0; plan"),
        ({"plan": "b2"}, "plan"),
        ({"executors": 5}, "executors 10 → 5"),
        ({"num_tasks": 400}, "tasks 200 → 400"),
        ({"work_bytes": 3 * 10**9, "cpu_ms": 15_000_000}, "input size 3.0 times; CPU time 3.0 times"),
        ({"executors": 9, "work_bytes": int(1.1 * 10**9)}, NOTHING),
        ({"spark_version": None, "plan": None, "executors": None}, NOTHING),
    ],
)
def test_changes_of_a_level_are_named(columns, expected):
    """What all runs of the level have, and no run before it, changed with it; noise did not."""
    samples = job(**columns)

    assert level_changes(samples, samples[CHANGED_AT].learned_ms) == expected


def test_level_columns_name_the_change():
    """The columns of a run on a longer level name what changed with the level."""
    samples = job(executors=5)
    known = learned(samples[:-1])

    assert columns_of(known, samples[-1])["level_changes"] == "executors 10 → 5"


def test_accepted_level_is_the_reference():
    """After a level is accepted, runs at that level have no longer level, and a step above it has one again."""
    samples = job()
    known = learned(samples)
    accepted = accept(known, samples[-1].learned_ms + 1)

    assert "level_ratio" in columns_of(known, run(RUNS, 3_600_000))
    assert "level_ratio" not in columns_of(accepted, run(RUNS, 3_600_000))

    later = [run(RUNS + number, 3_600_000 if number < 12 else 7_200_000) for number in range(16)]
    rows = []
    for each in later:
        rows.append(columns_of(accepted, each))
        accepted = learn(accepted, each)

    assert not any("level_ratio" in row for row in rows[:12])
    assert rows[-1]["level_ratio"] == pytest.approx(2.0, rel=0.1)


def test_without_a_longer_level_nothing_is_accepted():
    """Without a longer level, and for runs that ended after the acceptance, the samples stay unchanged."""
    stable, changed = learned(job(1.0)), learned(job())

    assert accept(stable, RUNS * DAY_MS) == stable
    assert accept(changed, 20 * DAY_MS) == changed


def test_plan_is_independent_of_order_and_repetition():
    """The hash of a plan depends on the set of its stages."""
    assert plan_of(["b", "a", "a"]) == plan_of(["a", "b"]) != plan_of(["a"])
    assert plan_of([]) is None
