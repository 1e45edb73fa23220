"""Tests that live and ended stages have job, names, expected duration, deadline and cost in the store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries.run_report import RunReport
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.prices import Prices
from tests.integration.native_analytics.conftest import empty_database
from tests.integration.stream_jobs.detect_job import ANSWER_SECONDS, DetectJob
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.unit.stream_jobs.detect_rows import SCAN_AND_EXCHANGE
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
MINUTE_MS, HOUR_MS, WALL_MS = 60_000, 3_600_000, 60_000
TASKS, CORES, RUNS = 4, 4, 6
PRICES = Prices("USD", 1.0, 1.0, "of the test")
# The first stage of the query has ended, and the second one runs.
ENDED, LIVE = 0, 1
IDENTITY = "job_key, run_key, owner, team, query_id"
JUDGED = f"""
SELECT stage_id, status, {IDENTITY}, stage_fingerprint, query_name, stage_name, baseline_runs, expected_ms,
       expected_p95_ms, work_measure, deadline_ms, deadline_source, core_ms, cost, currency
FROM stage_expectations FINAL WHERE app_id = {{app_id:String}} ORDER BY stage_id
"""


class NightlyRun:
    """One run of a job with one query of two stages; each stage takes ``WALL_MS``."""

    def __init__(self, bootstrap: str, topic: str, app_id: str, start_ms: int, **properties: str) -> None:
        self.start_ms = start_ms
        self.app = ScriptedApplication(bootstrap, topic, app_id, start_ms)
        settings = {f"spark.sparkfuse.{name}": value for name, value in properties.items()}
        self._send("application_started", name="nightly", user_name="ann", properties=settings)
        self._send("executor_added", executor_id="1", host="node-1", cores=CORES, added_ms=start_ms)
        names, parents, details = (list(each) for each in zip(*SCAN_AND_EXCHANGE, strict=True))
        self._send("sql_started", sql_execution_id=5, root_execution_id=5, started_ms=start_ms, plan_nodes=names)
        self._send("sql_plan", sql_execution_id=5, plan_version=0, node_names=names, node_parents=parents,
                   node_details=details)  # fmt: skip
        self._send("job_started", job_id=1, submitted_ms=start_ms, stage_ids=[ENDED, LIVE], sql_execution_id=5)
        self.start_stage(ENDED)

    def start_stage(self, stage: int) -> None:
        """Send the start of a stage and the ends of all of its tasks but one."""
        scopes = ["Exchange", "WholeStageCodegen (1)"] if stage == ENDED else ["Sort"]
        self._send("stage_started", stage_id=stage, stage_attempt=0, num_tasks=TASKS, submitted_ms=self._at(stage),
                   name=f"save at orders.py:{stage}", job_id=1, sql_execution_id=5, scope_names=scopes)  # fmt: skip
        for index in range(TASKS - 1):
            self._end_task(stage, index)
        self.app.flush()

    def end_stage(self, stage: int) -> None:
        """Send the end of the last task and of the stage."""
        self._end_task(stage, TASKS - 1)
        self._send("stage_ended", stage_id=stage, stage_attempt=0, num_tasks=TASKS, submitted_ms=self._at(stage),
                   completed_ms=self._at(stage) + WALL_MS, succeeded=True)  # fmt: skip
        self.app.flush()

    def end(self) -> None:
        """Send the ends of the job, the query and the application."""
        ended_ms = self._at(LIVE) + WALL_MS
        self._send("job_ended", job_id=1, completed_ms=ended_ms, succeeded=True)
        self._send("sql_ended", sql_execution_id=5, ended_ms=ended_ms)
        self._send("application_ended", ended_ms=ended_ms, succeeded_jobs=1, failed_jobs=0)
        self.app.flush()

    def _at(self, stage: int) -> int:
        return self.start_ms + stage * WALL_MS

    def _end_task(self, stage: int, index: int) -> None:
        at = self._at(stage)
        self.app.send_fact(
            "task_ended", stage_id=stage, stage_attempt=0, task_id=stage * TASKS + index, task_index=index,
            outcome="success", launched_ms=at, finished_ms=at + WALL_MS, duration_ms=WALL_MS, has_metrics=True,
            run_ms=WALL_MS, cpu_ns=WALL_MS * 900_000, gc_ms=0, input_bytes=10**9, input_records=10**6,
        )  # fmt: skip

    def _send(self, kind: str, **values: Any) -> None:
        self.app.send_fact(kind, lane="reserved", **values)


@pytest.fixture
def store(kafka_bootstrap: str, prefix: str, store_url: str, tmp_path: Path) -> Iterator[Client]:
    """Return a client of a store into which a loader copies the topics of both jobs."""
    settings = empty_database(store_url)
    migrate(connect(settings))
    environment = os.environ | {
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_CLICKHOUSE_URL": settings.clickhouse_url,
        "SPARKFUSE_METRICS_PORT": "",
    }
    with (tmp_path / "loader.log").open("wb") as log:
        command = [sys.executable, "-m", "sparkfuse_native_analytics.loader"]
        loader = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield connect(settings)
    finally:
        loader.terminate()
        loader.wait(90)


def judged(store: Client, app_id: str) -> dict[int, dict[str, Any]]:
    """Return what the store has about the stages of an application, by stage."""
    return {row["stage_id"]: row for row in store.query(JUDGED, parameters={"app_id": app_id}).named_results()}


def report_of(store: Client, app_id: str, status: str) -> RunReport | None:
    """Return what the run page shows, once the second stage has the status; None before."""
    found = queries.run_report(store, app_id, PRICES, 10)
    there = found is not None and [each.stage.status for each in found.stages] == ["succeeded", status]
    return found if there else None


def learn(bootstrap: str, topic: str, detect: DetectJob, job: str, now_ms: int) -> None:
    """Send the earlier runs of a job, one an hour, and wait until their stages and the application have a baseline."""
    for number in range(RUNS):
        start_ms = now_ms - (RUNS + 1 - number) * HOUR_MS
        run = NightlyRun(bootstrap, topic, f"{job}-{number}", start_ms, job=job, team="orders")
        run.end_stage(ENDED)
        run.start_stage(LIVE)
        run.end_stage(LIVE)
        run.end()

    def learned() -> bool:
        newest = {each.stage_fingerprint: each for each in detect.baselines() if each.job_key == job}
        return len(newest) == 3 and all(len(each.samples) == RUNS for each in newest.values())

    wait_for(learned, ANSWER_SECONDS, "the baselines of both stages and of the application")


def test_live_and_ended_stages_have_their_expectation(
    kafka_bootstrap: str, prefix: str, detect: DetectJob, store: Client
) -> None:
    """After six runs, the stages of the next run have all values, while they run and after they ended.

    The first run has what is known without history, and neither expected values nor a deadline.
    """
    now_ms = time.time_ns() // 1_000_000
    job = f"nightly-{uuid.uuid4().hex[:8]}"  # a second attempt must not see the runs of the first one
    app_id = f"{job}-judged"
    learn(kafka_bootstrap, f"{prefix}.facts", detect, job, now_ms)
    run = NightlyRun(
        kafka_bootstrap, f"{prefix}.facts", app_id, now_ms - WALL_MS - MINUTE_MS,
        job=job, team="orders", owner="ann@example.com", deadline="2h",
    )  # fmt: skip
    run.end_stage(ENDED)
    run.start_stage(LIVE)
    running = wait_for(lambda: report_of(store, app_id, "running"), ANSWER_SECONDS, "the running stage")
    wait_for(
        lambda: judged(store, app_id).get(LIVE, {}).get("status") == "running",
        ANSWER_SECONDS,
        "the record of the running stage",
    )
    live, running = judged(store, app_id), report_of(store, app_id, "running") or running
    run.end_stage(LIVE)
    run.end()
    wait_for(lambda: judged(store, app_id)[LIVE]["status"] == "succeeded", ANSWER_SECONDS, "the record of the end")
    ended = judged(store, app_id)
    report = wait_for(lambda: report_of(store, app_id, "succeeded"), ANSWER_SECONDS, "the ended stage")
    first = judged(store, f"{job}-0")[ENDED]

    for found, shown in ((live, running), (ended, report)):
        assert shown is not None
        assert_complete(found, run, job)
        assert_shown(shown, found)
    assert [row["core_ms"] for row in live.values()] == [TASKS * WALL_MS, (TASKS - 1) * WALL_MS]
    assert [row["core_ms"] for row in ended.values()] == [TASKS * WALL_MS] * 2
    assert {first["baseline_runs"], first["expected_ms"], first["deadline_ms"]} == {None}
    assert (first["job_key"], first["team"], first["status"]) == (job, "orders", "succeeded")


def assert_complete(found: dict[int, dict[str, Any]], run: NightlyRun, job: str) -> None:
    """Assert that both stages have all values, and that the expected values are those of the earlier runs."""
    assert [(row["stage_id"], name) for row in found.values() for name, value in row.items() if value is None] == []
    assert {(row["job_key"], row["owner"], row["team"], row["query_id"]) for row in found.values()} == {
        (job, "ann@example.com", "orders", 5)
    }
    assert {(row["baseline_runs"], row["deadline_ms"]) for row in found.values()} == {
        (RUNS, run.start_ms + 2 * HOUR_MS)
    }
    assert [row["expected_ms"] for row in found.values()] == pytest.approx([WALL_MS, WALL_MS], rel=0.02)
    assert all(row["expected_p95_ms"] > row["expected_ms"] for row in found.values())
    assert all(row["query_name"] == "q5" or row["query_name"].startswith("q5: ") for row in found.values())
    assert all(0 < row["cost"] < 1 for row in found.values())


def assert_shown(report: RunReport, found: dict[int, dict[str, Any]]) -> None:
    """Assert that the run page shows the published values."""
    shown = [(each.stage.stage_id, each.expected and each.expected.expected_ms, each.cost) for each in report.stages]

    assert shown == [(stage, row["expected_ms"], row["cost"]) for stage, row in found.items()]
    assert {report.deadline_ms} == {row["deadline_ms"] for row in found.values()}
    assert report.deadline_source == "setting"
