"""Compares the rendered description of every rule with descriptions.txt."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.describe import placeholders, render
from sparkfuse_rules.rule import QUIET, Case, Rule

GOLDEN = Path(__file__).parent / "descriptions.txt"
CATALOG = load_catalog()
MOST_WORDS = 75
# Values of columns that a case does not set, because its rule does not evaluate them.
USUAL: Mapping[str, object] = {
    "application_ids": "app-20261121020000-0042, app-20261121020500-0043",
    "biggest_task_index": 17,
    "description": "daily sales",
    "elapsed_ms": 95_000,
    "elsewhere_applications": 0,
    "executor_id": "3",
    "executors": 4,
    "facts_dropped": 11,
    "failure": "disk_full",
    "failure_kind": "infrastructure",
    "first_cause": "java.io.IOException: No space left on device",
    "heap_after_gc_bytes": 3_900_000_000,
    "heap_max_bytes": 4_294_967_296,
    "host": "worker-3",
    "job_id": 12,
    "lived_ms": 754_000,
    "name": "daily_sales",
    "reason": "Container killed by YARN for exceeding memory limits.",
    "retry": "transient",
    "slow_applications": 1,
    "slowest_task_executor_id": "3",
    "slowest_task_host": "worker-3",
    "slowest_task_index": 17,
    "stage_id": 4,
    "stage_name": "q7: lineitem ⋈ part",
    "status": "running",
    "task_attempt": 0,
    "task_index": 17,
    "work_measure": "bytes",
}
# Columns whose value is 1 if a case does not set them, such as attempts.
ONE = ("failed_tasks", "fetch_failed_tasks", "finished_tasks", "resubmitted_tasks", "running_tasks")


def firing(rule: Rule) -> Iterator[Case]:
    """Yield the last case of each severity; if there are several cases, the last one is far above the threshold."""
    by_severity = {case.expect: case for case in rule.cases if case.expect != QUIET and not case.params}
    yield from by_severity.values()


def rendered(rule: Rule, case: Case) -> str:
    values = {**USUAL, **dict.fromkeys(ONE, 1), **case.given}
    used = {name for name, _ in placeholders(rule.description)}
    return render(rule.description, {name: value for name, value in values.items() if name in used})


def test_descriptions_are_the_golden_ones() -> None:
    """The description of each rule and severity equals the reviewed text in descriptions.txt.

    ``SPARKFUSE_WRITE_GOLDEN=1`` writes the file; review the difference.
    """
    lines = [
        f"{rule.id} ({case.expect}, {case.name})\n{rendered(rule, case)}\n"
        for rule in CATALOG.values()
        for case in firing(rule)
    ]
    actual = "\n".join(lines)
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        GOLDEN.write_text(actual, encoding="utf-8")

    assert actual == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", CATALOG.values(), ids=list(CATALOG))
def test_description_is_short(rule: Rule) -> None:
    """A description has at most three sentences and never shows Spark's own name of a stage."""
    text = rendered(rule, next(firing(rule)))
    sentences = text.split(" First cause:")[0].split(" Reason reported by Spark:")[0].split(". ")

    assert len(sentences) <= 3
    assert len(text.split()) <= MOST_WORDS
    if rule.view in {"stage_live", "task_live", "failure_live"}:
        assert "q7: lineitem ⋈ part" in text
        assert "name" not in {name for name, _ in placeholders(rule.description)}
