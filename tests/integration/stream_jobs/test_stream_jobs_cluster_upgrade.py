"""Stops both jobs on a standalone Flink cluster with savepoints, and starts them from these with more parallelism."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from tests.flink_cluster import FlinkCluster
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]
WINDOWS, DETECT = "sparkfuse_stream_jobs.windows", "sparkfuse_stream_jobs.detect"
STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}
SPILLED_BYTES = 1 << 30
PROGRESS_SECONDS = 0.5
FINDING_SECONDS = 180


class Findings:
    """Reads the findings of a topic."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test"})
        count = topics()["findings"].partitions
        self._consumer.assign([TopicPartition(f"{prefix}.findings", number, 0) for number in range(count)])
        self.found: list[Finding] = []

    def of(self, rule: str, state: str) -> Finding | None:
        """Return the last finding of a rule in a state."""
        for message in self._consumer.consume(1000, timeout=0.3):
            if message.error() is None:
                self.found.append(from_json(Finding, message.value()))
        return next((each for each in reversed(self.found) if (each.rule, each.state) == (rule, state)), None)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


@pytest.fixture
def environment(kafka_bootstrap: str, topic_prefix: str, tmp_path: Path) -> dict[str, str]:
    """Return the settings of both jobs, whose topics exist."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    return {
        "SPARKFUSE_HOME": str(tmp_path / "unused"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_WINDOW_MS": "1000",
    }


@pytest.fixture
def cluster(environment: dict[str, str], tmp_path: Path, repository: Path) -> Iterator[FlinkCluster]:
    """Return a running cluster, and send ticks."""
    cluster = FlinkCluster(tmp_path / f"cluster-{uuid.uuid4().hex[:6]}", repository / "build" / "flink-libs")
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.tick_process"]
    with (tmp_path / "ticks.log").open("wb") as log:
        ticks = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        ticks.terminate()
        ticks.wait(30)


class RunningTask:
    """A task that reports progress, so that its stage has a row in each window."""

    def __init__(self, app: ScriptedApplication) -> None:
        self._app, self._ended = app, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        age_ms = 0
        while not self._ended.wait(PROGRESS_SECONDS):
            age_ms += int(PROGRESS_SECONDS * 1000)
            self._app.send_fact(
                "task_progress", collector=EXECUTOR, lane="task", **STAGE, task_id=99, task_index=3, executor_id="1",
                host="h1", age_ms=age_ms, cpu_ns=age_ms * 1_000_000, activity="busy",
            )  # fmt: skip
            self._app.flush()


def end_task(app: ScriptedApplication) -> None:
    """Send the end of one task."""
    app.send_fact(
        "task_ended", lane="task", **STAGE, task_id=app.drop(lane="ids"), outcome="success", duration_ms=10,
        disk_spilled_bytes=SPILLED_BYTES,
    )  # fmt: skip
    app.flush()


def test_savepoints_restore_both_jobs_with_more_parallelism(
    cluster: FlinkCluster, environment: dict[str, str], kafka_bootstrap: str, topic_prefix: str
) -> None:
    """From its savepoint, each job continues at parallelism 2: no task is counted twice, and nothing fires twice."""
    jobs = {module: cluster.submit(module, environment, "-p", "1") for module in (WINDOWS, DETECT)}
    seen, findings = Seen(kafka_bootstrap, topic_prefix), Findings(kafka_bootstrap, topic_prefix)
    app = ScriptedApplication(kafka_bootstrap, f"{topic_prefix}.facts", "orders", time.time_ns() // 1_000_000 - 60_000)
    app.send_fact("application_started", lane="reserved", name="orders", properties={"spark.sparkfuse.job": "orders"})
    app.send_fact(
        "stage_started", lane="reserved", **STAGE, name="save at orders.py:8", num_tasks=5, submitted_ms=app.start_ms
    )
    end_task(app)
    with RunningTask(app):
        end_task(app)
        firing = wait_for(lambda: findings.of("stage_spill", "firing"), FINDING_SECONDS, "the spill")
        for module in (WINDOWS, DETECT):
            savepoint = cluster.stop_with_savepoint(jobs[module])
            end_task(app)
            jobs[module] = cluster.submit(module, environment, "-p", "2", "-s", savepoint)
        seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 4)
    app.send_fact("stage_ended", lane="reserved", **STAGE, succeeded=False, failure_reason="cancelled", num_tasks=5)
    app.flush()
    last = seen.wait_for("orders", "stage_live", lambda row: row.stage.HasField("completed_ms"))
    resolved = wait_for(lambda: findings.of("stage_spill", "resolved"), FINDING_SECONDS, "the end of the stage")
    parallelism = {module: max(cluster.parallelism(job)) for module, job in jobs.items()}
    findings.close()
    seen.close()

    assert parallelism == {WINDOWS: 2, DETECT: 2}
    assert (last.stage.finished_tasks, last.stage.finished_disk_spilled_bytes) == (4, 4 * SPILLED_BYTES)
    assert last.completeness == 1.0
    assert firing is not None
    assert resolved is not None
    assert (resolved.finding_id, resolved.started_ms) == (firing.finding_id, firing.started_ms)
    assert {each.started_ms for each in findings.found if each.rule == "stage_spill"} == {firing.started_ms}
