"""The demonstration's verdict: everything expected, and nothing else."""

from __future__ import annotations

import pytest

from sparkfuse.demo.scenario import Case, cases
from sparkfuse.demo.verdict import Outcome, complaints

SKEW = Case("skewed", "skew.py", "lane", expects="stage_skew", allows=frozenset({"stage_spill"}))
FUSE = Case("runaway", "run.py", "lane", expects="stage_runaway_spill", fuse=True)
HEALTHY = Case("healthy", "fine.py", "lane")


@pytest.mark.parametrize(
    "outcome, expected",
    [
        (Outcome(SKEW, 0, frozenset({"stage_skew"}), False), []),
        (Outcome(SKEW, 0, frozenset({"stage_skew", "stage_spill"}), False), []),
        (Outcome(SKEW, None, frozenset({"stage_skew"}), False), []),
        (Outcome(SKEW, 0, frozenset(), False), ["skewed: no page of stage_skew"]),
        (Outcome(SKEW, 1, frozenset({"stage_skew"}), False), ["skewed: its Spark job ended with 1"]),
        (Outcome(HEALTHY, 0, frozenset({"stage_slow"}), False), ["healthy: an unexpected page of stage_slow came"]),
        (Outcome(FUSE, 0, frozenset({"stage_runaway_spill"}), True), []),
        (Outcome(FUSE, 0, frozenset({"stage_runaway_spill"}), False), ["runaway: the fuse did not act"]),
    ],
    ids=["all came", "allowed too", "ended", "missing", "job failed", "unexpected", "blew", "did not blow"],
)
def test_a_case_is_well_only_if_what_was_expected_came_and_nothing_else(outcome: Outcome, expected: list[str]) -> None:
    """Each missing or surplus page, exit code and act is a sentence of its own."""
    assert complaints([outcome], []) == expected


def test_a_page_about_a_stranger_is_a_complaint() -> None:
    """A page about a job that the demonstration did not run fails it."""
    assert complaints([], ["stage_slow of other"]) == ["an unexpected page came: stage_slow of other"]


def test_the_scenario_shows_every_rule_once_and_blows_the_fuse_once() -> None:
    """Five healthy runs come first, each pathology once, and exactly one case ends by the fuse."""
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
