"""Tests that the oracle, with which the kernel is compared, gives the values of Spark's own History Server.

tests/oracle/README.md lists the permitted differences.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.logs.history_server import HistoryServer, milliseconds
from tests.oracle.event_log import Oracle, read_event_log
from tests.oracle.find import find_logs
from tests.oracle.values import MAX_TEXT_BYTES
from tests.waiting import wait_for

REAL = Path(__file__).parents[2] / "logs" / "real"
LISTED_SECONDS = 120
SUMS = {
    "run_ms": "executorRunTime",
    "cpu_ns": "executorCpuTime",
    "gc_ms": "jvmGcTime",
    "deserialize_ms": "executorDeserializeTime",
    "result_bytes": "resultSize",
    "memory_spilled_bytes": "memoryBytesSpilled",
    "disk_spilled_bytes": "diskBytesSpilled",
    "shuffle_read_bytes": "shuffleReadBytes",
    "shuffle_read_records": "shuffleReadRecords",
    "fetch_wait_ms": "shuffleFetchWaitTime",
    "shuffle_write_bytes": "shuffleWriteBytes",
    "shuffle_write_records": "shuffleWriteRecords",
    "input_bytes": "inputBytes",
    "input_records": "inputRecords",
    "output_bytes": "outputBytes",
    "output_records": "outputRecords",
}
STATUSES = {"succeeded": "COMPLETE", "failed": "FAILED", "running": "ACTIVE"}
DISTRIBUTIONS = {
    "task_run_ms": ("executorRunTime",),
    "task_shuffle_read_bytes": ("shuffleReadMetrics", "readBytes"),
    "task_input_bytes": ("inputMetrics", "bytesRead"),
}

Logs = dict[str, tuple[str, Oracle]]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HistoryServer, Logs]]:
    """Yield a server on a copy of the committed logs; for each application, its REST path and the oracle's values."""
    folder = tmp_path_factory.mktemp("events")
    oracles = {}
    for where, paths in find_logs([REAL]):
        # The server reads only one folder.
        copy = shutil.copytree if where.is_dir() else shutil.copy
        copy(where, folder / where.name)
        oracle = read_event_log(paths)
        oracles[oracle.applications[0]["app_id"]] = oracle
    with HistoryServer(folder) as server:
        listed = wait_until_listed(server, set(oracles))
        yield server, {application: (listed[application], oracle) for application, oracle in oracles.items()}


def wait_until_listed(server: HistoryServer, wanted: set[str]) -> dict[str, str]:
    def listed() -> dict[str, str] | None:
        found = dict(server.applications())
        return found if wanted <= found.keys() else None

    return wait_for(listed, LISTED_SECONDS, "the server to list every log")


def kept(description: str | None) -> str | None:
    """Return the part of a text that Sparkfuse keeps."""
    return None if description is None else description[:MAX_TEXT_BYTES]


def below(answer: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        answer = answer[key]
    return answer


def test_sums_and_counts_are_the_history_servers(logs: tuple[HistoryServer, Logs]) -> None:
    """Each number of each stage attempt of each committed log equals the number in Spark's History Server."""
    server, oracles = logs

    actual = {}
    expected = {}
    for application, (path, oracle) in oracles.items():
        theirs = {(stage["stageId"], stage["attemptId"]): stage for stage in server.get(f"{path}/stages")}
        for stage in oracle.stages:
            key = (stage["stage_id"], stage["stage_attempt"])
            found = theirs[key]
            actual[application, *key] = {
                "name": stage["name"],
                "num_tasks": stage["num_tasks"],
                "status": STATUSES[stage["status"]],
                "description": stage["job_description"],
                "submitted_ms": stage["submitted_ms"],
                "completed_ms": stage["completed_ms"],
                "succeeded": stage["succeeded"],
                "failed": stage["failed"],
                "killed": stage["killed"],
                **{name: stage[name] for name in SUMS},
            }
            expected[application, *key] = {
                "name": found["name"],
                "num_tasks": found["numTasks"],
                "status": found["status"],
                "description": kept(found.get("description")),
                "submitted_ms": milliseconds(found.get("submissionTime")),
                "completed_ms": milliseconds(found.get("completionTime")),
                "succeeded": found["numCompleteTasks"],
                "failed": found["numFailedTasks"],
                "killed": found["numKilledTasks"],
                **{name: found[theirs] for name, theirs in SUMS.items()},
            }
    assert actual == expected


def test_distributions_are_the_history_servers(logs: tuple[HistoryServer, Logs]) -> None:
    """Minimum, maximum, median and nearest-rank percentile equal the task values of the History Server."""
    server, oracles = logs

    actual = {}
    expected = {}
    for application, (path, oracle) in oracles.items():
        for stage in oracle.stages:
            count = stage["task_run_ms"]["n"]
            if not count or stage["succeeded"] != count:
                continue
            ranks = (0, (count - 1) // 2, count // 2, -(-95 * count // 100) - 1, count - 1)
            # The server returns the task at floor(quantile * count); half a rank is added so that rounding is harmless.
            quantiles = ",".join(str((rank + 0.5) / count) for rank in ranks)
            key = (stage["stage_id"], stage["stage_attempt"])
            where = f"{path}/stages/{key[0]}/{key[1]}"
            summary = server.get(f"{where}/taskSummary?quantiles={quantiles}")
            found = {name: below(summary, keys) for name, keys in DISTRIBUTIONS.items()}
            # The server's summary of durations includes failed attempts, so the test reads each succeeded task.
            tasks = server.get(f"{where}/taskList?status=success&length={count}")
            walls = sorted(task["duration"] for task in tasks)
            found["wall_ms"] = [walls[rank] for rank in ranks]
            for name, (least, lower, upper, percentile, greatest) in found.items():
                own = stage[name]
                actual[application, *key, name] = [own["min"], own["median"], own["p95"], own["max"]]
                expected[application, *key, name] = [least, (lower + upper) / 2, percentile, greatest]
    assert actual == expected


def test_jobs_and_executors_are_the_history_servers(logs: tuple[HistoryServer, Logs]) -> None:
    """Jobs and executors equal those of the History Server.

    The test compares the times, groups and stages of jobs, and the start and removal of executors.
    """
    server, oracles = logs

    actual = {}
    expected = {}
    for application, (path, oracle) in oracles.items():
        actual[application] = (
            {
                job["job_id"]: (job["submitted_ms"], job["completed_ms"], sorted(job["stage_ids"]), job["job_group"],
                                job["description"], job["result"])
                for job in oracle.jobs
            },
            {
                executor["executor_id"]: (executor["added_ms"], executor["removed_ms"], executor["removed_reason"],
                                          executor["cores"])
                for executor in oracle.executors
            },
        )  # fmt: skip
        results = {"SUCCEEDED": "JobSucceeded", "FAILED": "JobFailed", "RUNNING": None}
        expected[application] = (
            {
                job["jobId"]: (milliseconds(job.get("submissionTime")), milliseconds(job.get("completionTime")),
                               sorted(job["stageIds"]), job.get("jobGroup"), kept(job.get("description")),
                               results[job["status"]])
                for job in server.get(f"{path}/jobs")
            },
            {
                executor["id"]: (milliseconds(executor["addTime"]), milliseconds(executor.get("removeTime")),
                                 executor.get("removeReason"), executor["totalCores"])
                for executor in server.get(f"{path}/allexecutors")
                if executor["id"] in {own["executor_id"] for own in oracle.executors}
            },
        )  # fmt: skip
    assert actual == expected
