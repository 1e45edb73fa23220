"""Tests which critical findings page, and the alerts about those that do not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_alertmanager.alert import alert_of
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.page_alerts import LISTED, digests, held_back
from sparkfuse_alertmanager.page_decisions import DAY_MS, KEPT_MS, PageDecisions, Team, claims
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.settings import SettingError, Settings

NOW_MS = 1_795_226_470_000
LINKS = Links("http://127.0.0.1:19080")
ORDERS = Team("default", "orders")


def critical(number: int, cost: float = 0, avoidable: float = 0, **fields) -> Finding:
    run = FindingRun(app_id=f"app-{number}", state="firing", cost=cost, cost_avoidable=avoidable)
    base: dict[str, Any] = {
        "finding_id": f"f{number}", "rule": "stage_spill", "severity": "critical", "state": "firing", "team": "orders",
        "job_key": f"job-{number}", "started_ms": NOW_MS - 1000, "updated_ms": NOW_MS, "runs": [run],
    }  # fmt: skip
    return Finding(**(base | fields))


def decide(decisions: PageDecisions, *findings: Finding, at_ms: int = NOW_MS) -> list[bool | None]:
    for page in claims(findings, decisions):
        decisions.add(page, at_ms)
    return [decisions.decision(each) for each in findings]


def test_most_expensive_findings_of_a_batch_page() -> None:
    """In one batch, avoidable cost decides first, then the cost so far, then the age."""
    decisions = PageDecisions(2)
    cheap, costly, avoidable = critical(1, cost=1), critical(2, cost=900), critical(3, cost=1, avoidable=5)

    assert decide(decisions, cheap, costly, avoidable) == [False, True, True]
    assert decisions.reason(cheap) == "Held back: 2 pages of team orders on this day (UTC), which is the limit."
    assert decisions.reason(costly) == ""


def test_cost_of_one_application_counts_once() -> None:
    """Runs of one application share its cost, so many stuck tasks do not make a finding more important."""
    tasks = [FindingRun(app_id="app-1", task_id=task, state="firing", cost=10) for task in range(50)]

    assert decide(PageDecisions(1), critical(1, runs=tasks), critical(2, cost=11)) == [False, True]


def test_repetitions_and_duplicates_use_the_budget_once() -> None:
    """A finding that is repeated, or whose record was written twice, is one page; firing again is another one."""
    decisions = PageDecisions(2)
    first = critical(1)
    [page] = claims([first], decisions)
    for _ in range(5):
        decisions.add(page, NOW_MS)
    again = critical(1, started_ms=NOW_MS + 5)

    assert claims([first, first], decisions) == []
    assert decide(decisions, again, critical(2)) == [False, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), max_size=60), st.integers(1, 4))
def test_no_day_of_a_team_has_more_pages_than_the_limit(events: list[tuple[int, int, int]], limit: int) -> None:
    """Whatever the order, each team has at most the limit of pages a day, and replaying gives the same decisions."""
    decisions, replayed, at_ms = PageDecisions(limit), PageDecisions(limit), NOW_MS
    paged: dict[tuple[str, int], set[tuple[str, int]]] = {}
    log = []
    for number, team, days in events:
        at_ms += days * DAY_MS // 2
        finding = critical(number, team=f"team-{team}", started_ms=at_ms // DAY_MS)
        for page in claims([finding], decisions):
            log.append((page, at_ms))
            decisions.add(page, at_ms)
            if decisions.decision(finding):
                paged.setdefault((finding.team, at_ms // DAY_MS), set()).add((finding.finding_id, finding.started_ms))
    for page, appended_ms in log:
        replayed.add(page, appended_ms)

    assert all(len(pages) <= limit for pages in paged.values())
    assert vars(replayed) == vars(decisions)


def test_budget_is_per_team_and_day() -> None:
    """Other teams and other days have their own budgets; old days are forgotten, so that memory stays bounded."""
    decisions = PageDecisions(1)
    today, other = decide(decisions, critical(1), critical(2)), decide(decisions, critical(3, team="billing"))
    tomorrow = decide(decisions, critical(4), at_ms=NOW_MS + DAY_MS)
    decide(decisions, critical(5), at_ms=NOW_MS + KEPT_MS)

    assert (today, other, tomorrow) == ([True, False], [True], [True])
    assert decisions.decision(critical(1)) is None
    assert decisions.held(ORDERS, NOW_MS) == ()


def test_without_a_limit_nothing_is_held_back() -> None:
    """With limit 0 every critical finding pages."""
    assert decide(PageDecisions(0), *map(critical, range(50))) == [True] * 50


def test_held_back_alert_is_a_warning_with_a_reason() -> None:
    """A finding beyond the budget is sent as a warning whose annotation has the reason; the others do not change."""
    decisions = PageDecisions(1)
    findings = [critical(1, cost=5), critical(2)]
    decide(decisions, *findings)
    alerts = [alert_of(each, NOW_MS, LINKS) for each in findings]
    first, second = held_back(alerts, {each.finding_id: decisions.reason(each) for each in findings})

    assert first == alerts[0]
    assert second.labels == {**alerts[1].labels, "severity": "warning"}
    assert second.annotations["held_back"] == decisions.reason(findings[1])


def test_digest_lists_what_was_held_back() -> None:
    """One alert for each team has the number and the newest of the findings; names of users are cleaned."""
    decisions = PageDecisions(1)
    findings = [critical(number, job_key=f"job\u202e-{number}") for number in range(LISTED + 6)]
    decide(decisions, *findings, critical(99, team="billing"))
    held = [each for each in findings if decisions.reason(each)]
    [digest] = digests(held, decisions, NOW_MS, LINKS)

    assert digest.annotations["summary"] == f"{LISTED + 5} critical findings of team orders did not page today"
    assert digest.annotations["description"].count("stage_spill in job") == LISTED
    assert digest.annotations["description"].endswith("and 5 more.")
    assert "\u202e" not in digest.annotations["description"]
    assert digest.annotations["finding_url"] == "http://127.0.0.1:19080/?severity=critical&team=orders"
    assert digest.labels["severity"] == "warning"
    assert digest.finding_id.startswith("pages-")


@pytest.mark.parametrize("value", ["-1", "many", "10001", "1.5"])
def test_invalid_limit_is_refused(value: str) -> None:
    """A limit that is no number from 0 to 10000 is an error that names the setting."""
    with pytest.raises(SettingError, match="SPARKFUSE_PAGES_PER_DAY"):
        Settings.from_environment({"SPARKFUSE_PAGES_PER_DAY": value})
