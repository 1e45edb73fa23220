"""Tests the rules on query plans with both Flink jobs, on the facts of real queries.

For each rule, tests/logs/plans_job.py runs one query that has the problem and one that only looks similar.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_contracts.generated.fact_pb2 import Fact
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.scripted_application import DRIVER, ScriptedApplication
from tests.logs.log_facts import facts_of_log

pytestmark = pytest.mark.timeout(900)
LOGS = Path(__file__).parents[3] / "logs" / "detection"
APPS, JOB = ("plans", "plans-data"), "query-plans"
RULES = (
    "broadcast_large", "broadcast_missed", "cartesian_join", "driver_collect", "repeated_computation",
    "single_task_sort", "small_files_read", "small_files_written",
)  # fmt: skip
KINDS = ("sql_started", "sql_plan", "sql_metrics", "sql_ended", "stage_started", "stage_ended")


def test_rules_distinguish_queries_with_problems(kafka_bootstrap: str, prefix: str, detect: DetectJob) -> None:
    """Each rule fires for the query that has its problem, and for no similar query, and resolves."""
    queries = {query for name in APPS for query in replay(kafka_bootstrap, f"{prefix}.facts", name)}
    for rule in RULES:
        detect.wait_for_finding(rule, JOB, lambda found: found.state == "firing", f"{rule} to fire")
        detect.wait_for_finding(rule, JOB, lambda found: found.state == "resolved", f"{rule} to resolve")
    found = [each for each in detect.new_findings(0) if each.rule in RULES]

    assert {f"no-{rule}" for rule in RULES} <= {description for description, _, _ in queries}
    assert {each.severity for each in found} == {"info"}
    assert {(each.rule, run.app_id, run.query_id) for each in found for run in each.runs} == {
        query for query in queries if query[0] in RULES
    }


def replay(bootstrap: str, topic: str, name: str) -> Iterator[tuple[str, str, int]]:
    """Send the facts of a log as an application of its name; yield description, application and id of each query."""
    facts = [fact for fact in facts_of_log(LOGS / f"{name}.zstd") if fact.WhichOneof("kind") in KINDS]
    app = ScriptedApplication(bootstrap, topic, name, min(fact.event_time_ms for fact in facts))
    app.send_fact("application_started", lane="reserved", name=JOB)
    for fact in facts:
        send(app, fact)
        if fact.HasField("sql_started"):
            yield fact.sql_started.description, name, fact.sql_started.sql_execution_id
    app.flush()


def send(app: ScriptedApplication, fact: Fact) -> None:
    """Send a fact of the log as a fact of the application."""
    copy = Fact()
    copy.CopyFrom(fact)
    copy.cluster, copy.app_id, copy.app_attempt, copy.app_start_ms = "test", app.app_id, 1, app.start_ms
    copy.collector, copy.seq = DRIVER, app.drop(DRIVER, copy.lane)
    app.send(copy.SerializeToString())
