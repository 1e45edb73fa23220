"""Tests the rule stage_runaway_spill on real Spark: on live rows of the windows job and on counters of the hook."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datafusion import SessionContext

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_rules.cases import run_cases
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.rule import Case
from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.hook.conftest import Signer
from tests.integration.stream_jobs.conftest import RunningJob
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

JOBS = Path(__file__).parent / "jobs"
OPERATORS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le}
# The defaults are 20 GB, 10 min and 2 min; the ratio of the times is kept.
RULE = load_catalog()["stage_runaway_spill"].with_params(
    {"budget_bytes": 20_000_000, "max_since_progress_ms": 10_000, "max_since_spill_ms": 2_000}
)
VERSIONS = [pytest.param("spark35", marks=pytest.mark.long), "spark4"]
JOB_SECONDS = 420


@pytest.fixture
def seen(kafka_bootstrap: str, topics: str, tmp_path: Path) -> Iterator[Seen]:
    """Yield the rows of a windows job that runs beside the Spark job."""
    ensure_topics(settings_of(kafka_bootstrap, topics))
    environment = {
        "SPARKFUSE_HOME": str(tmp_path / "home"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topics,
        "SPARKFUSE_WINDOW_MS": "1000",
    }
    (tmp_path / "home").mkdir()
    windows = RunningJob("sparkfuse_stream_jobs.windows", environment, tmp_path / "windows.log")
    rows = Seen(kafka_bootstrap, topics)
    try:
        windows.wait_until_running()
        yield rows
    finally:
        windows.stop()
        rows.close()


@pytest.fixture
def run_job(kafka_bootstrap: str, topics: str, tmp_path: Path) -> Iterator[Callable[[str, str], SparkRun]]:
    """Return a function that starts a job that spills little data; cancel_stage is allowed."""
    runs: list[SparkRun] = []

    def start(version: str, script: str) -> SparkRun:
        settings = {
            "spark.sparkfuse.kafka.bootstrap": kafka_bootstrap,
            "spark.sparkfuse.topic.prefix": topics,
            "spark.sparkfuse.fuse": "act",
            "spark.sparkfuse.fuse.publicKeys": Signer().inline,
            # A sorter spills after this many rows, even if memory is free.
            "spark.shuffle.spill.numElementsForceSpillThreshold": "20000",
            "spark.test.until": str(tmp_path / "until"),
        }
        runs.append(SparkRun(version, JOBS / script, settings, tmp_path / "job.log"))
        return runs[-1]

    yield start
    for run in runs:
        run.stop()


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_straggler_after_heavy_spill_is_quiet(run_job, seen, tmp_path, version):
    """A task that only computes after a heavy spill is not a runaway, neither in live rows nor for the hook.

    Before the computation, other tasks spill ten times the budget and end.
    """
    job = run_job(version, "early_spill.py")
    app_id = job.wait_for_line("APPLICATION")
    straggling = seen_stage(
        seen, app_id, lambda row: since(row, "since_finish_ms") and since(row, "running_since_progress_min_ms")
    )
    counted = counters(job, straggling["stage_id"], lambda columns: since(columns, "running_since_progress_min_ms"))
    (tmp_path / "until").touch()

    assert job.wait_for_line("SUM") == "True"
    assert job.ended() == 0
    assert straggling["disk_spilled_bytes"] > 2 * RULE.params["budget_bytes"].value
    assert counted["disk_spilled_bytes"] == straggling["disk_spilled_bytes"]
    assert set(severities(stage_rows(seen, app_id))) == {"quiet"}
    assert [columns for columns in printed(job, straggling["stage_id"]) if hook_agrees(columns)] == []


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_sort_of_a_cross_join_is_a_runaway(run_job, seen, version):
    """A task that no longer reads but still spills fires the rule, and the hook's counters agree."""
    job = run_job(version, "runaway_sort.py")
    app_id = job.wait_for_line("APPLICATION").split()[0]
    row = seen_stage(seen, app_id, lambda row: severities([row]) == ["critical"])
    agreed = counters(job, row["stage_id"], hook_agrees)

    assert row["running_tasks"] == 2
    assert agreed["running_spilled_since_progress_max_bytes"] >= RULE.params["budget_bytes"].value


def since(columns: dict[str, Any], name: str) -> bool:
    """Return whether the column ``name``, a time since progress, has reached the threshold of the rule."""
    return bool(columns.get(name, 0) >= RULE.params["max_since_progress_ms"].value)


def stage_rows(seen: Seen, app_id: str) -> list[dict[str, Any]]:
    """Return the columns of all stage rows that were written so far."""
    seen.read()
    return [{field.name: value for field, value in row.stage.ListFields()} for row in seen.of(app_id, "stage_live")]


def seen_stage(seen: Seen, app_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for a row of a stage that satisfies the condition."""
    found = wait_for(lambda: [row for row in stage_rows(seen, app_id) if condition(row)], JOB_SECONDS, "a row")
    return found[0]


def severities(rows: list[dict[str, Any]]) -> list[str]:
    """Return the severity of the rule for each row, computed by the engine for offline analyses."""
    given = tuple(Case(str(number), row, "quiet", {}) for number, row in enumerate(rows))
    results = run_cases([replace(RULE, cases=given)], "datafusion", evaluate)
    return [result.actual for result in results]


def evaluate(statement: str) -> list[tuple[int, str | None]]:
    """Run a statement and return its rows."""
    rows = SessionContext().sql(statement).to_pylist()
    return [(row["case_number"], row["severity"]) for row in rows]


def printed(job: SparkRun, stage_id: int) -> list[dict[str, int]]:
    """Return the counters of a stage that the driver printed so far."""
    lines = [json.loads(line.partition(" ")[2]) for line in job.lines if line.startswith("COUNTERS")]
    return [line[str(stage_id)] for line in lines if line.get(str(stage_id))]


def counters(job: SparkRun, stage_id: int, condition: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Wait until the driver's counters of a stage satisfy the condition."""
    found = wait_for(lambda: [each for each in printed(job, stage_id) if condition(each)], JOB_SECONDS, "counters")
    return found[-1]


def hook_agrees(columns: dict[str, int]) -> bool:
    """Return whether the counters satisfy all conditions of the policy; a missing counter satisfies no condition."""
    return all(
        need.column in columns and OPERATORS[need.operator](columns[need.column], need.threshold)
        for need in signal_conditions(RULE)
    )
