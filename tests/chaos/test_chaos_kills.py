"""Kills the processes of the stack during a workload: no fact or alert is lost or sent twice (`make chaos`)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkfuse.demo import spark_job
from sparkfuse.demo.event_collector import pages
from sparkfuse.demo.scenario import JOBS
from sparkfuse.stack import stack
from sparkfuse.stack.job_properties import write_job_properties
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse_alertmanager.receiver import Receiver
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
VICTIMS = ("windows", "detect", "loader", "kafka", "windows", "detect")
BETWEEN_KILLS_SECONDS = 25.0

# Compares each stage's row with the sum of the facts of its tasks.
STAGES = """
SELECT s.app_id, s.stage_id, s.finished_tasks, s.finished_run_ms, s.finished_shuffle_write_bytes,
       f.tasks, f.run_ms, f.shuffle_write_bytes
FROM (SELECT * FROM ended_stages FINAL) AS s
LEFT JOIN (
    SELECT app_id, task_ended_stage_id AS stage_id, task_ended_stage_attempt AS stage_attempt, count() AS tasks,
           sum(task_ended_run_ms) AS run_ms, sum(task_ended_shuffle_write_bytes) AS shuffle_write_bytes
    FROM facts FINAL WHERE kind = 'task_ended' GROUP BY app_id, stage_id, stage_attempt
) AS f USING (app_id, stage_id, stage_attempt)
"""
# Lanes in which a sequence number is missing.
HOLES = """
SELECT app_id, collector, lane, count() AS seen, max(seq) + 1 AS numbered
FROM facts FINAL GROUP BY app_id, collector, lane HAVING seen != numbered
"""


def wait_restarting(supervisor: Supervisor, condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition while the supervisor restarts killed processes."""

    def seen() -> bool:
        supervisor.poll()
        return condition()

    wait_for(seen, seconds, what)


def kill(process: Process) -> None:
    """Kill -9 the process and its children, including the JVM of a Flink job."""
    os.killpg(process.pid, signal.SIGKILL)


def test_kills_lose_no_fact_and_repeat_no_alert(tmp_path: Path) -> None:
    """After six kills, stage rows match their tasks' facts, no sequence number is missing, and one alert was sent."""
    layout = Layout.from_environment(tmp_path / "home", Ports.free(), {})
    layout.home.mkdir()
    with Receiver() as receiver, stack.running(layout, print, receiver.url) as supervisor:
        hung = start(layout, "hung_lookup", "hung_lookup.py")
        busy = [start(layout, f"busy_{number}", "nightly_orders.py", "3000000") for number in range(2)]
        try:
            for victim in VICTIMS:
                wait_until = time.monotonic() + BETWEEN_KILLS_SECONDS
                wait_restarting(supervisor, lambda until=wait_until: time.monotonic() > until, 60, "the next kill")
                kill(supervisor.processes[victim])
            wait_restarting(supervisor, lambda: all(job.exit_code() is not None for job in busy), 300, "the busy jobs")
            wait_restarting(supervisor, lambda: alerts(receiver, "firing") == 1, 180, "the page")
        finally:
            hung.stop()
            for job in busy:
                job.stop()
        wait_restarting(supervisor, lambda: alerts(receiver, "resolved") == 1, 180, "the alert to resolve")
        client = connect(Settings.from_environment(layout.environment()))
        wait_restarting(supervisor, lambda: client.query(HOLES).row_count == 0, 60, "the loader")
        rows = client.query(STAGES).result_rows

        assert [job.exit_code() for job in busy] == [0, 0]
        assert len(rows) >= 4
        assert [row for row in rows if row[2:5] != row[5:8]] == []
        assert alerts(receiver, "firing") == 1


def start(layout: Layout, name: str, script: str, *arguments: str) -> Process:
    settings = {**spark_job.ON_ONE_MACHINE, "spark.sparkfuse.job": name}
    properties = write_job_properties(layout, Settings.from_environment(layout.environment()))
    return spark_job.start(f"job-{name}", JOBS / script, arguments, properties, settings, {}, layout.logs)


def alerts(receiver: Receiver, status: str) -> int:
    """Return how often the webhook received the alert of the hung task."""
    received = [page for delivery in receiver.deliveries for page in pages(delivery)]
    return sum(page.rule == "task_stuck" and page.status == status for page in received)
