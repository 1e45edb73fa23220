"""Tests the rules on query plans on event logs of real runs.

tests/logs/plans_job.py runs one query with the problem of each rule, and one that only looks similar.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.analysis import analyze
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.evaluate import evaluate
from sparkfuse_native_analytics.offline.view_rows import view_rows
from sparkfuse_rules.compiled import CompiledRule, rules_offline

LOGS = Path(__file__).parents[2] / "logs"
RULES = (
    "broadcast_large", "broadcast_missed", "cartesian_join", "driver_collect", "repeated_computation",
    "single_task_sort", "small_files_read", "small_files_written",
)  # fmt: skip
PLANS = ("plans.zstd", "plans-data.zstd")


def applications(path: str) -> Iterator[Application]:
    for log in find_logs(str(LOGS / path)).logs:
        if "zst" in log.name or "lz" in log.name or "snappy" in log.name or "local-" in log.name:
            yield read_application(log)


@pytest.fixture(scope="module")
def rules() -> list[CompiledRule]:
    return [rule for rule in rules_offline() if rule.view == "query_live"]


def found(application: Application, rules: list[CompiledRule]) -> list[tuple[str, str, str]]:
    """Return description, rule and severity of each finding about a query."""
    (findings,) = evaluate(rules, [view_rows(application, [], {})])
    return sorted((each.row["description"] or "", each.rule.id, each.severity) for each in findings)


def test_each_rule_finds_its_query_only(rules: list[CompiledRule]):
    """Each rule finds the query that has its problem, and none of the similar queries."""
    expected = [(rule, rule, "info") for rule in RULES]
    actual = [each for log in PLANS for app in applications(f"detection/{log}") for each in found(app, rules)]

    assert sorted(rule.id for rule in rules) == list(RULES)
    assert sorted(actual) == expected


def test_finding_names_its_query(rules: list[CompiledRule]):
    """In the output of `analyze`, a finding about a query has the id and the name of the query."""
    (application,) = applications("detection/cross-join.zstd")
    (finding,) = [each for each in analyze(application, rules)["findings"] if each["rule"] == "cartesian_join"]

    assert (finding["query_id"], finding["stage_id"], finding["count"]) == (0, None, 1)
    assert finding["description"].startswith("Query q0: ")


@pytest.mark.parametrize("folder", ["detection", "queries", "real", "runs"])
def test_no_other_recorded_run_has_a_finding(folder: str, rules: list[CompiledRule]):
    """No recorded run that was made for other purposes has a query with one of these problems."""
    by_log = {
        application.read.log.name: [rule for _, rule, _ in found(application, rules)]
        for application in applications(folder)
        if Path(application.read.log.name).name not in PLANS
    }

    assert {Path(name).name: named for name, named in by_log.items() if named} == (
        {"cross-join.zstd": ["cartesian_join"]} if folder == "detection" else {}
    )
    assert len(by_log) >= 5
