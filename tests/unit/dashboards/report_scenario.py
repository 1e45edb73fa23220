"""Creates analyses for tests of the report: an ordinary one, one with hostile texts, a huge one, and an empty one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

START_MS = 1_795_226_400_000
HOSTILE = (
    "</script><script>window.hacked=1</script>\u2028<img src=x onerror=window.hacked=1>"
    "\"'{{7*7}}\u202egnp.exe\x00\ud800"
)
"""Ends a script, and has an image, a template expression, reversed text, a null and half a surrogate pair."""


def summary(values: list[float]) -> dict[str, Any]:
    """Return a summary of the values, with the keys that summaries have in an analysis."""
    if not values:
        return {"n": 0, "sum": None, "min": None, "median": None, "p95": None, "max": None}
    ordered = sorted(values)
    return {
        "n": len(ordered),
        "sum": sum(ordered),
        "min": ordered[0],
        "median": float(np.median(ordered)),
        "p95": ordered[-(-95 * len(ordered) // 100) - 1],
        "max": ordered[-1],
    }


def stage(stage_id: int, walls: list[float], after_ms: int = 0, **more: Any) -> dict[str, Any]:
    """Return a stage that starts after ``after_ms``, whose tasks ran ``walls`` ms and read a megabyte each."""
    read = [1_000_000.0] * len(walls)
    return {
        "stage_id": stage_id,
        "stage_attempt": 0,
        "fingerprint": f"{stage_id:016x}",
        "name": f"count at orders.py:{stage_id}",
        "job_description": "count the orders",
        "status": "succeeded",
        "num_tasks": len(walls),
        "submitted_ms": START_MS + after_ms,
        "completed_ms": START_MS + after_ms + int(max(walls, default=0)),
        "failure_reason": None,
        "tasks": len(walls),
        "succeeded": len(walls),
        "failed": 0,
        "killed": 0,
        "speculative": 0,
        "without_metrics": 0,
        "run_ms": int(sum(walls)),
        "gc_ms": int(sum(walls) / 10),
        "memory_spilled_bytes": 0,
        "disk_spilled_bytes": 0,
        "shuffle_read_bytes": 0,
        "shuffle_write_bytes": 50_000,
        "input_bytes": int(sum(read)),
        "wall_ms": summary(walls),
        "task_run_ms": summary(walls),
        "task_input_bytes": summary(read),
        "task_shuffle_read_bytes": summary([0.0] * len(walls)),
        **more,
    }


def finding(stage_id: int, severity: str = "warning", **more: Any) -> dict[str, Any]:
    """Return the finding of a skewed stage."""
    return {
        "rule": "stage_skew",
        "severity": severity,
        "stage_id": stage_id,
        "stage_attempt": 0,
        "executor_id": None,
        "summary": "One task of the stage has far more data than the median task",
        "description": f"Task 3 of stage {stage_id} reads 900 MiB, 12 times the median.",
        "evidence": {"bytes_ratio": "12", "lost_ms": "31000"},
        "completeness": 1.0,
        "runbook": "1. Find the key: count the rows of\n   it.\n2. Look at `biggest_task_bytes` of ten runs.\n",
        **more,
    }


def read_file(name: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a log file that was read completely."""
    common = {"codec": "zstd", "bytes": 4096, "plain_bytes": 65536, "lines": 120, "truncated": False, "error": None}
    return {"name": name, **common, **more}


def analysis(stages: list[dict[str, Any]], findings: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """Return the JSON object that `sparkfuse analyze --json` prints for the stages."""
    ended = max((each["completed_ms"] for each in stages), default=START_MS) + 500
    return {
        "application": {
            "app_id": "app-20261121020000-0042",
            "attempt": "1",
            "name": "nightly orders",
            "spark_version": "3.5.8",
            "started_ms": START_MS - 3000,
            "ended_ms": ended,
            "job_key": "prod-eu/orders/nightly_orders",
            "status": "succeeded",
            "elapsed_ms": ended - START_MS + 3000,
            "baseline_runs": 12,
            "expected_ms": 21_000,
        },
        "evidence": {
            "files": [read_file("app-20261121020000-0042.zstd")],
            "plain_bytes": 65536,
            "codecs": ["zstd"],
            "events": 120,
            "events_by_kind": {"SparkListenerTaskEnd": sum(each["tasks"] for each in stages)},
            "malformed_lines": [],
            "malformed": 0,
            "missing_files": [],
            "completeness": 1.0,
            "truncated": False,
            "complete": True,
            "unfinished_tasks": 0,
            "duplicate_task_ends": 0,
        },
        "jobs": [
            {
                "job_id": 0,
                "description": "count the orders",
                "submitted_ms": START_MS - 100,
                "completed_ms": ended,
                "result": "JobSucceeded",
            }
        ],
        "stages": stages,
        "executors": [
            {"executor_id": "1", "host": "node-a", "added_ms": START_MS - 500, "removed_ms": None},
            {
                "executor_id": "2",
                "host": "node-b",
                "added_ms": START_MS - 400,
                "removed_ms": START_MS + 900,
                "removed_reason": "lost",
            },
        ],
        "findings": findings or [],
        "not_decidable": [{"rule": "task_stuck", "reason": "the log contains no running tasks"}],
        **more,
    }


def ordinary() -> dict[str, Any]:
    """Return an analysis with three stages, one of them skewed and spilling, with its finding."""
    return analysis(
        [
            stage(0, [900.0, 1000.0, 1100.0]),
            stage(
                1, [1000.0] * 15 + [31_000.0], 1200, disk_spilled_bytes=3_000_000_000, memory_spilled_bytes=9 * 10**9
            ),
            stage(2, [50.0], 33_000),
        ],
        [finding(1)],
    )


def hostile() -> dict[str, Any]:
    """Return an analysis in which each text of the log, and some numbers, are hostile."""
    bad = stage(1, [1000.0, 2000.0], name=HOSTILE, job_description=HOSTILE, failure_reason=HOSTILE, status="failed")
    worse = stage(2, [5.0], gc_ms=float("nan"), run_ms=10**400, disk_spilled_bytes=-(2**70), submitted_ms="yesterday")
    said = finding(
        1, "critical", summary=HOSTILE, description=HOSTILE, evidence={HOSTILE: HOSTILE}, executor_id=HOSTILE
    )
    said["runbook"] = HOSTILE
    made = analysis([bad, worse], [said, finding(1, rule=HOSTILE, severity=HOSTILE)])
    made["application"] |= {"name": HOSTILE, "app_id": HOSTILE, "spark_version": HOSTILE, "ended_ms": 10**18}
    made["jobs"][0] |= {"description": HOSTILE, "result": HOSTILE}
    made["executors"][0] |= {"host": HOSTILE, "executor_id": HOSTILE}
    made["evidence"] |= {
        "files": [read_file(HOSTILE, error=HOSTILE, codec=HOSTILE)],
        "codecs": [HOSTILE],
        "events_by_kind": {HOSTILE: 1},
        "malformed_lines": [{"file": HOSTILE, "line": 3, "reason": HOSTILE}],
        "missing_files": [HOSTILE],
        "complete": False,
        "truncated": True,
    }
    made["not_decidable"] = [{"rule": HOSTILE, "reason": HOSTILE}]
    return made


def empty() -> dict[str, Any]:
    """Return the analysis of an empty file: one application without data."""
    made = analysis([])
    made["application"] = dict.fromkeys(made["application"])
    made["evidence"] |= {
        "files": [],
        "plain_bytes": 0,
        "codecs": [],
        "events": 0,
        "events_by_kind": {},
        "complete": False,
    }
    return made | {"jobs": [], "executors": []}


def without_metrics() -> dict[str, Any]:
    """Return an analysis whose tasks ended without any metrics."""
    names = ("run_ms", "gc_ms", "memory_spilled_bytes", "shuffle_write_bytes", "input_bytes")
    nothing = summary([])
    one = stage(0, [900.0, 1000.0], **dict.fromkeys(names, 0), without_metrics=2)
    return analysis([one | {"task_run_ms": nothing, "task_input_bytes": nothing, "task_shuffle_read_bytes": nothing}])


def huge(stages: int = 10_000, jobs: int = 2_000, executors: int = 500) -> dict[str, Any]:
    """Return an analysis of ten thousand stages that ran for hours."""
    made = analysis([stage(each, [100.0 + each % 977, 90.0], each * 1000) for each in range(stages)])
    made["jobs"] = [
        made["jobs"][0]
        | {"job_id": each, "submitted_ms": START_MS + each * 5000, "completed_ms": START_MS + each * 5000 + 4000}
        for each in range(jobs)
    ]
    made["executors"] = [
        {"executor_id": str(each), "host": f"node-{each}", "added_ms": START_MS + each * 100, "removed_ms": None}
        for each in range(executors)
    ]
    made["findings"] = [finding(each) for each in range(250)]
    return made


def tasks(of: list[tuple[int, int]], each: int, seed: int = 7, *, measured: bool = True) -> pa.Table:
    """Return a task table that has ``each`` tasks for each stage attempt.

    Durations are log-normal, and the last task of each stage failed.
    """
    random = np.random.default_rng(seed)
    amount = each * len(of)
    walls = np.round(random.lognormal(6, 1, amount)).astype(np.int64)
    read = np.round(random.lognormal(14, 1, amount)).astype(np.int64)
    place = np.tile(np.arange(each), len(of))
    launched = START_MS + place.astype(np.int64)
    metric = pa.array(read) if measured else pa.nulls(amount, pa.int64())
    return pa.table({
        "stage_id": np.repeat([stage_id for stage_id, _ in of], each).astype(np.int64),
        "stage_attempt": np.repeat([attempt for _, attempt in of], each).astype(np.int64),
        "task_index": place.astype(np.int64),
        "task_attempt": np.zeros(amount, dtype=np.int64),
        "executor_id": pa.array(np.where(place % 2 == 0, "1", "2")),
        "launched_ms": launched,
        "finished_ms": launched + walls,
        "outcome": pa.array(np.where(place == each - 1, "failed", "success")),
        "input_bytes": metric,
        "shuffle_read_bytes": pa.array(np.zeros(amount, dtype=np.int64)) if measured else metric,
    })  # fmt: skip
