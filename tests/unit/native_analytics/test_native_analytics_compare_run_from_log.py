"""Tests reading a run to compare from a log: ordered times, work of succeeded tasks, no secrets, and known limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.compare import Run as ComparedRun
from sparkfuse_native_analytics.compare.run_from_log import read_run
from tests.unit.native_analytics.event_log_lines import START_MS, Run, Stage, Task, even


@pytest.fixture
def read(tmp_path: Path):
    def reads(run: Run) -> ComparedRun:
        (log,) = find_logs(str(run.write(tmp_path / "log"))).logs
        return read_run(log)

    return reads


def test_failed_tasks_count_as_failures_and_not_as_work(read) -> None:
    """The work of a stage is eight megabytes if eight tasks read a megabyte each.

    The bytes of four failed attempts are not added to the work.
    """
    failed = [Task(1_000, reason="ExceptionFailure")] * 4
    (stage,) = read(Run([Stage(0, [*failed, *even(1_000)])])).stages

    assert (stage.main.tasks, stage.main.failed) == (8, 4)
    assert (stage.main.wall_ms, stage.main.ended_wall_ms) == (8_000, 12_000)
    assert (stage.main.read_bytes, stage.main.read_records) == (8_000_000, 80)
    assert stage.main.cpu_ms == 8_000


def test_log_without_end_counts_until_last_event(read) -> None:
    """In a log without an end, a running stage lasts until the last event, and the run names this limitation."""
    run = read(Run([Stage(0, even(2_000)), Stage(1, [Task(500)], 2_000, status="running")], ended=False))

    assert run.ended_ms == START_MS + 1_000 + 2_500
    assert [each.elapsed_ms for each in run.stages] == [2_000, 500]
    assert any("no end of the application" in sentence for sentence in run.limits)


def test_attempts_are_combined_into_one_stage(read) -> None:
    """The attempt with the most tasks represents the stage; the duration of the stage includes all attempts."""
    tries = [Stage(0, [], status="failed"), Stage(0, even(1_000), 500, attempt=1)]
    (stage,) = read(Run(tries)).stages

    assert (len(stage.attempts), stage.main.attempt, stage.elapsed_ms) == (2, 1, 1_000)


def test_stages_of_one_fingerprint_are_numbered(read) -> None:
    """Stages of a loop have the same fingerprint, so they are compared by their order.

    The k-th stage of one run is compared with the k-th stage of the other.
    """
    run = read(Run([Stage(4, even(100), 900), Stage(2, even(100), 100), Stage(3, even(100), 500)]))

    assert [(each.stage_id, each.occurrence) for each in run.stages] == [(2, 0), (3, 1), (4, 2)]


def test_only_allowed_properties_are_kept(read) -> None:
    """A run contains neither secrets nor properties that name the job, so neither is compared."""
    properties = {"spark.password": "x", "spark.shuffle.compress": "false", "spark.executor.extraJavaOptions": "-Dp=x"}
    event = json.dumps({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties})

    assert read(Run([Stage(0, even(100))], more=[event])).configuration == {"spark.shuffle.compress": "false"}
