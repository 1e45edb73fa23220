"""Tests that findings are grouped below the finding that caused them."""

import pytest

from sparkfuse_native_analytics.offline.evaluate import Finding
from sparkfuse_native_analytics.offline.finding_groups import group_findings
from sparkfuse_rules.compiled import CompiledRule


def finding(rule: str, severity: str = "warning", inhibits: tuple[str, ...] = (), **row: object) -> Finding:
    """Return a finding about a stage, a job or the application, depending on the columns of ``row``."""
    view = "job_live" if "job_id" in row else "stage_live" if "stage_id" in row else "app_live"
    return Finding(CompiledRule(rule, view, "", "", "", "", (), (), inhibits), severity, row, {}, 1.0)


def names(findings: list[Finding], jobs: dict[int, list[int]] | None = None) -> list[tuple[str, int, str | None]]:
    return [(each.finding.rule.id, each.count, each.inhibited_by) for each in group_findings(findings, jobs or {})]


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param(
            [finding("skew", inhibits=("slow",), stage_id=1), finding("slow", stage_id=1)],
            [("skew", 1, None), ("slow", 1, "skew")],
            id="of its stage",
        ),
        pytest.param(
            [finding("skew", inhibits=("slow",), stage_id=1), finding("slow", stage_id=2)],
            [("skew", 1, None), ("slow", 1, None)],
            id="not of another stage",
        ),
        pytest.param(
            [finding("skew", inhibits=("whole",), stage_id=1), finding("whole")],
            [("skew", 1, None), ("whole", 1, None)],
            id="a stage explains no application",
        ),
        pytest.param(
            [finding("late", "critical", ("slow",)), finding("slow", stage_id=1), finding("slow", stage_id=2)],
            [("late", 1, None), ("slow", 1, "late"), ("slow", 1, "late")],
            id="a critical application explains all its stages",
        ),
        pytest.param(
            [finding("slow", stage_id=1), finding("late", "warning", ("slow",))],
            [("slow", 1, None), ("late", 1, None)],
            id="an application that warns explains none",
        ),
        pytest.param(
            [finding("slow", "critical", stage_id=1), finding("skew", "warning", ("slow",), stage_id=1)],
            [("slow", 1, None), ("skew", 1, None)],
            id="nothing explains what is worse than itself",
        ),
        pytest.param(
            [
                finding("churn", inhibits=("lost",), stage_id=1),
                finding("lost", inhibits=("fetch",), stage_id=1),
                finding("fetch", stage_id=1),
            ],
            [("churn", 1, None), ("lost", 1, "churn"), ("fetch", 1, "churn")],
            id="the cause behind the cause",
        ),
        pytest.param(
            [finding("a", inhibits=("b",), stage_id=1), finding("b", inhibits=("a",), stage_id=1)],
            [("a", 1, None), ("b", 1, "a")],
            id="a circle",
        ),
        pytest.param(
            [
                finding("retried", "critical", stage_id=1),
                finding("retried", stage_id=1),
                finding("retried", stage_id=2),
            ],
            [("retried", 2, None), ("retried", 1, None)],
            id="alike in one stage",
        ),
        pytest.param([finding("lossy")] * 3, [("lossy", 3, None)], id="alike in the application"),
    ],
)
def test_causes_come_first_and_matches_are_grouped(findings, expected):
    """Groups are in the order of their causes, the most severe first."""
    assert names(findings) == expected


def test_failed_job_explains_only_its_own_stages():
    """The symptoms of a failed job include failures in its own stages, but not in stages of another job."""
    failed = finding("failed", inhibits=("tasks",), job_id=7)
    findings = [failed, finding("tasks", stage_id=1), finding("tasks", stage_id=2)]

    assert names(findings, {7: [0, 1], 8: [2]}) == [
        ("failed", 1, None),
        ("tasks", 1, "failed"),
        ("tasks", 1, None),
    ]


def test_equal_causes_are_one_group():
    """Forty lost executors and their symptoms become one group that lists each symptom once."""
    lost = [finding("lost", "critical", ("fetch",)) for _ in range(40)]
    found = group_findings(
        [*lost, finding("fetch", stage_id=3), finding("fetch", stage_id=3), finding("fetch", stage_id=4)], {}
    )

    assert [(each.finding.rule.id, each.count) for each in found] == [("lost", 40), ("fetch", 2), ("fetch", 1)]
