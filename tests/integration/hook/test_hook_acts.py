"""Tests acts of the hook on real Spark: each act ends its target and leaves the rest of the job alone."""

from __future__ import annotations

import json
import os
import signal as signals
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_native_analytics.fuse_operator import orders
from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.hook.conftest import RULE, SHARED, Fuse, policy_hash
from tests.kafka import settings_of
from tests.waiting import wait_for

# The hook waits up to 10 s for the end of the safe point, between its request and the act.
IN_SAFE_POINT = {"spark.test.safePoint": "true", "spark.sparkfuse.fuse.safePoint": "10s"}
VERSIONS = [pytest.param("spark35", marks=pytest.mark.long), "spark4"]


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_killed_task_is_started_again(start, fuse, facts, until, version):
    """kill_task ends one attempt; Spark starts another one, and the job succeeds."""
    target, _ = start(version, "waiting_tasks.py")
    first, second = wait_for(lambda: len(found := target.running()) == 2 and found, 240, "two running tasks")
    target.send("other task", 1, action="kill_task", task_id=second.task_id + 1_000)
    assert fuse.receipt("other task")["gate"] == "target"
    target.send("task", 2, action="kill_task", task_id=first.task_id)
    receipt = fuse.receipt("task")

    assert (receipt["outcome"], receipt["freed_tasks"], receipt["unfreed_tasks"]) == ("ended", 1, 0)
    wait_for(lambda: len(target.running()) == 2, 60, "another attempt")
    assert [(task.task_id, task.outcome) for task in facts.of("task_ended")] == [(first.task_id, "killed")]
    until.touch()
    assert target.job.wait_for_line("RESULT") == "[2, 4]"
    assert target.job.wait_for_line("STATE") == "open ['ended']"
    assert target.job.ended() == 0


@pytest.mark.timeout(1_200)
def test_hold_that_arrives_after_the_signal_wins(start, fuse, until):
    """If a signal and a hold arrive while the driver is paused, the hook obeys the hold after the pause."""
    target, operator = start("spark4", "waiting_tasks.py")
    wait_for(target.running, 240, "a running task with progress")
    [driver] = _jvms(target.job)
    os.kill(driver, signals.SIGSTOP)
    target.send("late", 1, action="cancel_jobs")
    fuse.control(operator, control_id="hold", kind="hold", rule=RULE)
    os.kill(driver, signals.SIGCONT)

    assert (fuse.receipt("late")["outcome"], fuse.receipt("late")["gate"]) == ("held", "hold")
    until.touch()
    assert target.job.wait_for_line("RESULT") == "[2, 4]"
    assert target.job.wait_for_line("STATE") == "closed ['held']"


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_stop_everything_prevents_an_act_in_flight(start, fuse, kafka_bootstrap, topics, until, version):
    """If an operator orders `stop-everything` while an act waits for a safe point, the hook does not act.

    The hook has already written the receipt `requested`. After the operator has released the hold, the hook acts on a
    signal again.
    """
    target, operator = start(version, "waiting_tasks.py", **IN_SAFE_POINT)
    settings = settings_of(kafka_bootstrap, topics)
    stop = orders.hold(orders.Selection(), "incident", int(time.time() * 1000) + 3_600_000, orders.STOP_EVERYTHING)
    target.send("in flight", 1, action="cancel_jobs")
    wait_for(lambda: "requested" in outcomes(fuse, "in flight"), 120, "the request of the act")
    orders.give(settings, operator.operator, stop)

    assert (fuse.receipt("in flight")["outcome"], fuse.receipt("in flight")["gate"]) == ("held", "hold")
    first, _ = wait_for(lambda: len(found := target.running()) == 2 and found, 60, "both tasks, which still run")
    orders.give(settings, operator.operator, orders.release(stop, "over"))
    target.send("after", 2, action="kill_task", task_id=first.task_id)
    assert fuse.receipt("after")["outcome"] == "ended"
    until.touch()
    assert target.job.wait_for_line("RESULT") == "[2, 4]"
    assert target.job.wait_for_line("STATE") == "open ['held', 'ended']"


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_application_is_stopped_with_exit_code(start, fuse, tmp_path, version):
    """stop_application ends the context; Spark 4 records the exit code of the signal in the event log."""
    logs = tmp_path / "logs"
    logs.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
    }
    target, _ = start(version, "waiting_tasks.py", **settings)
    target.send("stop", 1, action="stop_application", exit_code=75)
    receipt = fuse.receipt("stop")

    assert (receipt["outcome"], receipt["freed_tasks"]) == ("ended", 2)
    assert "shut down" in target.job.wait_for_line("ERROR")
    assert target.job.wait_for_line("STOPPED") == "True"
    target.job.ended()
    [end] = [event for event in _events(logs) if event["Event"] == "SparkListenerApplicationEnd"]
    assert end.get("ExitCode", end.get("Exit Code")) == (75 if version == "spark4" else None)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_streaming_query_is_stopped_by_itself(start, fuse, facts, version):
    """Only cancel_query of a policy for shared drivers stops a streaming query, which ends without an exception."""
    target, _ = start(version, "streaming_query.py")
    target.send("stage", 1, action="cancel_stage")
    assert fuse.receipt("stage")["gate"] == "shared_driver"
    # The first batch has no rows and ends at once, so the batch that computes is found only now.
    task, _ = wait_for(lambda: len(found := target.running()) == 2 and found, 240, "the tasks of the batch")
    [query] = {each.sql_execution_id for each in facts.of("job_started") if task.stage_id in each.stage_ids}
    target.send("not shared", 2, action="cancel_query", query_id=query)
    assert fuse.receipt("not shared")["gate"] == "shared_driver"
    target.send("query", 3, action="cancel_query", query_id=query, policy_hash=policy_hash(SHARED))

    receipt = fuse.receipt("query")
    assert receipt["outcome"] == "ended", (receipt["gate"], receipt["reason"])
    assert target.job.wait_for_line("ENDED") == "False None"
    assert target.job.wait_for_line("USABLE") == "10"


def outcomes(fuse: Fuse, signal_id: str) -> list[str]:
    """Return the outcomes of the receipts of a signal that have arrived."""
    return [each["outcome"] for each in fuse.receipts(signal_id)]


def _jvms(job: SparkRun) -> list[int]:
    """Return the driver processes of a job; in local mode, the driver also runs the tasks."""
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    return [int(child) for child in children if "java" in Path(f"/proc/{child}/cmdline").read_text()]


def _events(logs: Path) -> Iterator[dict]:
    for log in logs.rglob("*"):
        if log.is_file() and not log.name.startswith((".", "appstatus")):
            yield from map(json.loads, log.read_text().splitlines())
