"""Tests the precision of rules from people's verdicts, and the demotion that follows from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.knowledge.precision import (
    DEFAULT_TARGET,
    VERDICT_LIFE_MS,
    JobClass,
    Precision,
    Verdict,
    demotion,
    precisions,
)

NOW_MS = 1_795_226_470_000
ORDERS = JobClass("default", "default", "orders")


def verdict(finding_id: str, said: str = "not-useful", person: str = "ada", at_ms: int = NOW_MS - 1000) -> Verdict:
    return Verdict(finding_id, person, said, at_ms, "stage_skew", ORDERS)


def test_bounds_are_those_of_wilson() -> None:
    """The bounds for 3 useful findings of 20 are those of Wilson's score interval, 5.2 % and 36.0 %."""
    found = Precision(3, 20)

    assert (found.lower, found.upper) == pytest.approx((0.0524, 0.3604), abs=0.0001)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_bounds_contain_the_share_and_stay_within_0_and_1(useful: int, others: int) -> None:
    """The interval contains the observed share, is within 0 and 1, and one more useful finding does not lower it."""
    found, better = Precision(useful, useful + others), Precision(useful + 1, useful + others + 1)

    assert 0 <= found.lower <= found.upper <= 1
    assert not found.judged or found.lower <= useful / found.judged + 1e-9 <= found.upper + 2e-9
    assert better.upper >= found.upper - 1e-9


def test_one_repeated_click_does_not_demote() -> None:
    """A finding counts once, however many verdicts of however many people it has."""
    clicks = [verdict("f1", person=f"p{number % 50}", at_ms=NOW_MS - number) for number in range(1000)]
    found = precisions(clicks, NOW_MS)

    assert found == {("stage_skew", ORDERS): Precision(0, 1)}
    assert demotion(found, "stage_skew", ORDERS, DEFAULT_TARGET) == ""


def test_six_findings_without_use_demote_the_rule_in_this_class() -> None:
    """With five findings that were not useful the rule is sent, with six it is demoted, and only for this team."""
    five, six = (precisions([verdict(f"f{number}") for number in range(count)], NOW_MS) for count in (5, 6))
    other_team = ORDERS._replace(team="billing")

    assert demotion(five, "stage_skew", ORDERS, None) == ""
    assert demotion(six, "stage_skew", ORDERS, None) == (
        "Demoted to info: 0 of 6 judged findings of stage_skew in team orders were useful (at most 39%, target 40%)."
    )
    assert demotion(six, "stage_skew", other_team, None) == ""
    assert demotion(six, "stage_slow", ORDERS, None) == ""


@pytest.mark.parametrize("said", ["useful", "fixed", "accepted"])
def test_demotion_ends_when_people_say_useful_again(said: str) -> None:
    """The last verdict of a person counts, in whatever order the records arrive; one useful verdict wins."""
    before = [verdict(f"f{number}") for number in range(6)]
    after = [verdict("f0", said, at_ms=NOW_MS - 10), verdict("f1", said, person="grace", at_ms=NOW_MS - 5000)]

    assert demotion(precisions(before, NOW_MS), "stage_skew", ORDERS, None)
    for order in (before + after, after + before):
        found = precisions(order, NOW_MS)

        assert found == {("stage_skew", ORDERS): Precision(2, 6)}
        assert demotion(found, "stage_skew", ORDERS, None) == ""


def test_old_and_unknown_verdicts_do_not_count() -> None:
    """Verdicts expire after 180 days, and a verdict that this version does not know is ignored."""
    old = [verdict(f"f{number}", at_ms=NOW_MS - VERDICT_LIFE_MS) for number in range(20)]

    assert precisions([*old, verdict("f99", "great")], NOW_MS) == {}


def test_target_0_is_never_demoted() -> None:
    """With the target 0, a rule is sent even if no finding was useful."""
    found = precisions([verdict(f"f{number}") for number in range(1000)], NOW_MS)

    assert demotion(found, "stage_skew", ORDERS, 0.0) == ""


def test_targets_come_from_the_rule_and_from_sparkfuse_yaml(tmp_path) -> None:
    """A rule has the default target or its own with a reason; sparkfuse.yaml changes it for all or for some jobs."""
    file = tmp_path / "sparkfuse.yaml"
    file.write_text(
        "rules:\n  stage_skew: {precision_target: 0.7}\n"
        "jobs:\n  - {job: 'etl_*', rules: {stage_skew: {precision_target: 0}}}\n"
    )
    catalog = load_catalog(None, file)
    of_etl = catalog["stage_skew"].for_job("etl_orders")

    assert (catalog["stage_slow"].precision_target, catalog["deadline_at_risk"].precision_target) == (0.4, 0.2)
    assert catalog["deadline_at_risk"].precision_why
    assert catalog["stage_skew"].precision_target == 0.7
    assert of_etl is not None
    assert of_etl.precision_target == 0


def test_invalid_target_is_named() -> None:
    """A target that is no share is an error that names the key and the valid range."""
    with pytest.raises(RuleError, match=r"rules\.stage_skew\.precision_target: must be from 0 to 1, but is 40"):
        load_catalog(None, {"stage_skew": {"precision_target": 40}})
