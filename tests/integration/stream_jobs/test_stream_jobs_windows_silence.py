"""Tests the windows job with a real Spark application: an executor is suspended, then the driver is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated import live_pb2
from tests.integration.collectors.spark_runs import ROOT, SparkRun
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(1_200)
WINDOW_MS = 1000
SILENT_MS = 5 * WINDOW_MS
STEADY = ROOT / "tests/integration/collectors/jobs/steady_job.py"


@pytest.fixture
def seen(kafka_bootstrap: str, tmp_path: Path, start_job: Any) -> Iterator[Seen]:
    """Yield the rows that a windows job on its own topics writes."""
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    environment = {
        "SPARKFUSE_HOME": str(tmp_path / "home"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    (tmp_path / "home").mkdir()
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    seen = Seen(kafka_bootstrap, prefix)
    job = start_job("sparkfuse_stream_jobs.windows", environment, tmp_path / "windows.log")
    job.wait_until_running()
    yield seen
    seen.close()
    job.stop()


@pytest.fixture
def job(seen: Seen, tmp_path: Path) -> Iterator[SparkRun]:
    """Yield an application with two executors, each a JVM, and one stage that does not end during the test."""
    settings = {
        "spark.sparkfuse.kafka.bootstrap": seen.bootstrap,
        "spark.sparkfuse.topic.prefix": seen.prefix,
        "spark.master": "local-cluster[2,1,700]",
        "spark.executor.memory": "600m",
        "spark.test.flag": str(tmp_path / "never"),
        "spark.test.tasks": "20000",
    }
    run = SparkRun("spark35", STEADY, settings, tmp_path / "job.log")
    yield run
    run.stop()


def test_silence_of_real_processes_is_reported(seen: Seen, job: SparkRun) -> None:
    """A suspended executor is reported as silent while another one is active.

    After the driver is killed, each window has a row of the application.
    """
    app_id, _, pid = job.wait_for_line("APPLICATION").split()
    driver = psutil.Process(int(pid))
    active = wait_for(lambda: both_active(seen, app_id), 240, "both executors")
    executor = active.executor

    assert executor.process_rss_bytes >= executor.rss_bytes > executor.heap_used_bytes > 0
    assert executor.direct_memory_bytes > 0
    assert 0 < executor.age_ms < active.window_end_ms - active.app_start_ms
    assert not executor.HasField("memory_limit_bytes"), "a local cluster sets no limit"

    processes = driver.children(recursive=True)
    [stopped] = [each for each in processes if is_executor(each, "1")]
    stopped.suspend()
    try:
        silent, _other = wait_for(lambda: one_is_silent(seen, app_id), 240, "the stopped executor's silence")
        assert silent.executor.rss_bytes > 0
    finally:
        stopped.resume()
    wait_for(lambda: both_active(seen, app_id), 240, "the executor's next sample")
    seen.wait_for(app_id, "app_live", lambda row: row.application.running_jobs == 1 and makes_progress(row))
    slow = seen.wait_for(app_id, "stage_live", lambda row: row.stage.succeeded_tasks > 100).stage

    assert (slow.slowest_task_executor_id in {"0", "1"}, slow.slowest_task_ms > 0) == (True, True)
    assert slow.slowest_task_host

    os.kill(driver.pid, signal.SIGKILL)
    try:
        dead = seen.wait_for(app_id, "app_live", lambda row: row.application.driver_silent_ms >= 2 * SILENT_MS)
    finally:
        kill(processes)

    assert dead.application.status == "running"
    assert dead.application.stalled_ms >= SILENT_MS
    assert dead.completeness <= 1.0


def is_executor(process: psutil.Process, executor: str) -> bool:
    """Return whether the process is the JVM of the given executor; false if the process has ended."""
    try:
        return f"--executor-id {executor} " in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # raised for zombies too: the shells that start the executors
        return False


def last_of(seen: Seen, app_id: str, executor: str) -> live_pb2.LiveRow | None:
    """Return the last row of one executor."""
    seen.read()
    rows = [row for row in seen.of(app_id, "executor_live") if row.executor.executor_id == executor]
    return rows[-1] if rows else None


def both_active(seen: Seen, app_id: str) -> live_pb2.LiveRow | None:
    """Return the last row of the second executor, if both are active."""
    rows = last_of(seen, app_id, "0"), last_of(seen, app_id, "1")
    return rows[1] if all(row is not None and row.executor.silent_ms < SILENT_MS for row in rows) else None


def one_is_silent(seen: Seen, app_id: str) -> tuple[live_pb2.LiveRow, live_pb2.LiveRow] | None:
    """Return the last rows of both executors, if the second has been silent for a while and the first is active."""
    other, silent = last_of(seen, app_id, "0"), last_of(seen, app_id, "1")
    assert other is not None
    assert silent is not None
    one_silent = other.executor.silent_ms < SILENT_MS <= silent.executor.silent_ms
    return (silent, other) if one_silent else None


def makes_progress(row: live_pb2.LiveRow) -> bool:
    """Return whether the driver is active and the application makes progress."""
    return row.application.driver_silent_ms < SILENT_MS and row.application.stalled_ms < SILENT_MS


def kill(processes: list[psutil.Process]) -> None:
    """Kill the executors of a dead driver."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # executors also exit by themselves without a driver
            process.kill()
    psutil.wait_procs(processes, timeout=60)
