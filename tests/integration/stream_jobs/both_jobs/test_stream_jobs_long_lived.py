"""Tests with both Flink jobs that a server that never ends learns its queries, and finds a slow one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from tests.integration.stream_jobs.detect_job import ANSWER_SECONDS, DetectJob
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
APP, USER = "connect-1", "spark"
JOB = "spark/Spark Connect server"
MINUTE_MS = 60_000
TASKS = 4
RUNS = 5


@dataclass(frozen=True)
class Template:
    """A query that one user of the server repeats: the nodes of its plan, its usual duration and input."""

    user: str
    nodes: tuple[str, ...]
    wall_ms: int
    input_bytes: int


ANN = Template("ann", ("HashAggregate", "Scan parquet lake.orders"), 20_000, 4_000_000_000)
BOB = Template("bob", ("Sort", "Scan parquet lake.lineitem"), 40_000, 9_000_000_000)


class Server:
    """A Connect server that started an hour ago; times of its queries are minutes after its start."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.start_ms = time.time_ns() // 1_000_000 - 60 * MINUTE_MS
        self.app = ScriptedApplication(bootstrap, topic, APP, self.start_ms)
        self._numbers = count(1)
        self.app.send_fact("application_started", name="Spark Connect server", user_name=USER, spark_version="4.0.1")
        self.app.flush()

    def query(self, template: Template, at_ms: int, times: float = 1.0, work: float = 1.0, fails: bool = False) -> int:
        """Send a whole query that was submitted at ``at_ms``, and return its number."""
        number, wall_ms = self.begin(template, at_ms, times, work), int(template.wall_ms * times)
        self._end_tasks(template, number, at_ms, times, work, tasks=range(TASKS - 1, TASKS))
        self.end(number, at_ms, wall_ms, fails)
        return number

    def begin(self, template: Template, at_ms: int, times: float = 1.0, work: float = 1.0) -> int:
        """Send the start of a query and the ends of all of its tasks but one."""
        number = next(self._numbers)
        tag = f"SparkConnect_OperationTag_User_{template.user}_Session_s_Operation_{number}"
        self.app.send_fact(
            "job_started", job_id=number, submitted_ms=at_ms, stage_ids=[number], sql_execution_id=number,
            description='Spark Connect - session_id: "?"', job_tags=[tag],
        )  # fmt: skip
        self.app.send_fact(
            "sql_started", sql_execution_id=number, root_execution_id=number, started_ms=at_ms,
            plan_nodes=list(template.nodes),
        )  # fmt: skip
        self.app.send_fact(
            "stage_started", **self._stage(number), name="collect at X", num_tasks=TASKS, submitted_ms=at_ms,
            job_id=number, sql_execution_id=number, scope_names=["Scan"],
        )  # fmt: skip
        self._end_tasks(template, number, at_ms, times, work, tasks=range(TASKS - 1))
        self.app.flush()
        return number

    def end(self, number: int, at_ms: int, wall_ms: int, fails: bool = False) -> None:
        """Send the ends of a query, its job and its stage."""
        ended_ms = at_ms + wall_ms
        reason: dict[str, Any] = {"failure_reason": "SparkException: boom"} if fails else {}
        self.app.send_fact(
            "stage_ended", lane="reserved", **self._stage(number), num_tasks=TASKS, submitted_ms=at_ms,
            completed_ms=ended_ms, succeeded=True,
        )  # fmt: skip
        self.app.send_fact(
            "job_ended", lane="reserved", job_id=number, completed_ms=ended_ms, succeeded=not fails, **reason
        )
        self.app.send_fact("sql_ended", lane="reserved", sql_execution_id=number, ended_ms=ended_ms, **reason)
        self.app.flush()

    def lives(self) -> None:
        """Send a sample of an executor, so that the window has a row of the application."""
        self.app.send_fact(
            "executor_sample", collector=EXECUTOR, executor_id="1", host="h1", interval_ms=1000, gc_delta_ms=1,
            heap_used_bytes=100, running_tasks=0,
        )  # fmt: skip
        self.app.flush()

    def _end_tasks(self, template: Template, number: int, at_ms: int, times: float, work: float, tasks: range) -> None:
        wall_ms = int(template.wall_ms * times)
        for index in tasks:
            self.app.send_fact(
                "task_ended", **self._stage(number), task_id=number * TASKS + index, task_index=index,
                outcome="success", launched_ms=at_ms, finished_ms=at_ms + wall_ms, duration_ms=wall_ms,
                has_metrics=True, run_ms=wall_ms, cpu_ns=wall_ms * 900_000, gc_ms=0,
                input_bytes=int(template.input_bytes * work) // TASKS, input_records=int(1_000_000 * work),
            )  # fmt: skip

    @staticmethod
    def _stage(number: int) -> dict[str, Any]:
        return {"stage_id": number, "stage_attempt": 0}


def test_slow_query_of_a_server_is_found(kafka_bootstrap: str, prefix: str, detect: DetectJob) -> None:
    """Two users repeat their queries, and one query fails.

    The next query of one user takes three times as long and is found; that of the other user reads twice as much and
    takes twice as long, which is expected.
    """
    server = Server(kafka_bootstrap, f"{prefix}.facts")
    failed = ""
    for run in range(RUNS):
        server.query(ANN, server.start_ms + 2 * run * MINUTE_MS, times=1 + run / 100)
        server.query(BOB, server.start_ms + (2 * run + 1) * MINUTE_MS, times=1 + run / 100)
        if run == 2:
            failed = f"#q{server.query(ANN, server.start_ms + 5 * MINUTE_MS, times=9, fails=True)}"

    def learned() -> list[Baseline]:
        server.lives()
        newest = {each.stage_fingerprint: each for each in detect.baselines() if each.job_key == JOB}
        found = [each for each in newest.values() if len(each.samples) >= RUNS]
        return found if len(found) == 2 else []

    baselines = wait_for(learned, ANSWER_SECONDS, "the queries of both users")
    now_ms = time.time_ns() // 1_000_000
    server.query(BOB, now_ms - 2 * BOB.wall_ms, times=2, work=2)
    slow_ms = now_ms - 3 * ANN.wall_ms
    slow = server.begin(ANN, slow_ms, times=3)

    def firing() -> bool:
        server.lives()
        return any(each.state == "firing" for each in detect.findings("stage_slow", JOB))

    wait_for(firing, ANSWER_SECONDS, "the slow query")
    server.end(slow, slow_ms, 3 * ANN.wall_ms)
    found = {(each.scope, run.stage_id) for each in detect.findings("stage_slow", JOB) for run in each.runs}
    [first, *_] = detect.findings("stage_slow", JOB)
    [one] = first.runs
    keys = [sample.run_key for each in baselines for sample in each.samples]

    assert {stage_id for _, stage_id in found} == {slow}
    assert one.evidence["baseline_runs"] == str(RUNS)
    assert float(one.evidence["expected_ms"]) == pytest.approx(ANN.wall_ms, rel=0.05)
    assert len(set(keys)) == 2 * RUNS
    assert not [key for key in keys if key.endswith(failed)]
