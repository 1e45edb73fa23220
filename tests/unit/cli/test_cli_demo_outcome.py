"""Tests the comparison of the demonstration's outcome with the expected outcome."""

from __future__ import annotations

import pytest

from sparkfuse.demo.outcome import Outcome, failures
from sparkfuse.demo.scenario import Case, cases

SKEW = Case("skewed", "skew.py", "queue", expects="stage_skew", allows=frozenset({"stage_spill"}))
FUSE = Case("runaway", "run.py", "queue", expects="stage_runaway_spill", fuse=True)
HEALTHY = Case("healthy", "fine.py", "queue")


@pytest.mark.parametrize(
    "outcome, expected",
    [
        (Outcome(SKEW, 0, frozenset({"stage_skew"}), False), []),
        (Outcome(SKEW, 0, frozenset({"stage_skew", "stage_spill"}), False), []),
        (Outcome(SKEW, None, frozenset({"stage_skew"}), False), []),
        (Outcome(SKEW, 0, frozenset(), False), ["skewed: no page of stage_skew"]),
        (Outcome(SKEW, 1, frozenset({"stage_skew"}), False), ["skewed: its Spark job exited with 1"]),
        (Outcome(HEALTHY, 0, frozenset({"stage_slow"}), False), ["healthy: unexpected page of stage_slow"]),
        (Outcome(FUSE, 0, frozenset({"stage_runaway_spill"}), True), []),
        (Outcome(FUSE, 0, frozenset({"stage_runaway_spill"}), False), ["runaway: the fuse did not act"]),
    ],
    ids=["complete", "also allowed", "stopped", "missing", "job failed", "unexpected", "acted", "did not act"],
)
def test_case_fails_on_missing_or_unexpected_pages(outcome: Outcome, expected: list[str]) -> None:
    """Each missing or unexpected notification, exit code or act is reported in one sentence."""
    assert failures([outcome], []) == expected


def test_page_about_another_job_is_a_failure() -> None:
    """The demonstration fails if a notification is about a job that the demonstration did not run."""
    assert failures([], ["stage_slow of other"]) == ["unexpected page: stage_slow of other"]


def test_scenario_has_each_rule_once_and_one_fuse_case() -> None:
    """Five healthy runs come first, each problem occurs once, and the fuse stops exactly one run."""
    scenario = cases()

    assert sorted(case.expects for case in scenario if case.expects) == [
        "stage_runaway_spill",
        "stage_skew",
        "stage_slow",
        "stage_spill",
        "task_stuck",
    ]
    assert sum(case.fuse for case in scenario) == 1
    assert sum(not case.expects for case in scenario) == 5
