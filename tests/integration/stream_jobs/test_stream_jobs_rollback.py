"""Tests the rollback of `sparkfuse up`: the windows job starts from a copy of its earlier checkpoints."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory, latest_checkpoint
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]
MODULE = "sparkfuse_stream_jobs.windows"
STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}


def end_task(app: ScriptedApplication, index: int) -> None:
    """Send the end of one task."""
    app.send_fact(
        "task_ended", lane="task", **STAGE, task_id=10 + index, outcome="success", duration_ms=10, run_ms=10**index
    )
    app.flush()


def test_checkpoints_of_before_the_upgrade_replay_the_same_rows(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, start_job: Any
) -> None:
    """After a rollback to the copied checkpoints, rows since then are written again with the same numbers and content.

    No fact is lost or counted twice.
    """
    home = tmp_path / "home"
    home.mkdir()
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_WINDOW_MS": "1000",
        "SPARKFUSE_CHECKPOINT_MS": "1000",
    }
    seen = Seen(kafka_bootstrap, topic_prefix)
    app = ScriptedApplication(kafka_bootstrap, f"{topic_prefix}.facts", "orders", time.time_ns() // 1_000_000)

    def run_until(finished_tasks: int) -> None:
        job = start_job(MODULE, environment, tmp_path / "output.log")
        end_task(app, finished_tasks - 1)
        seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == finished_tasks)
        before = latest_checkpoint(checkpoint_directory(home, "windows"))
        wait_for(lambda: latest_checkpoint(checkpoint_directory(home, "windows")) != before, 120, "a checkpoint")
        assert job.stop() == 0

    app.send_fact("application_started", lane="reserved", name="orders")
    app.send_fact("stage_started", lane="reserved", **STAGE, name="count at X", num_tasks=3, submitted_ms=app.start_ms)
    run_until(1)
    shutil.copytree(home / "checkpoints", home / "checkpoints-before")
    run_until(2)
    shutil.rmtree(home / "checkpoints")
    (home / "checkpoints-before").rename(home / "checkpoints")
    run_until(3)
    seen.close()
    contents = defaultdict(list)
    for row in seen.live:
        if row.app_id == "orders":
            contents[row.row_epoch_ms, row.row_seq].append(row.SerializeToString(deterministic=True))

    assert seen.of("orders", "stage_live")[-1].stage.finished_run_ms == 111
    assert any(len(rows) > 1 for rows in contents.values())
    assert {key for key, rows in contents.items() if len(set(rows)) > 1} == set()
    assert len({epoch for epoch, _ in contents}) == 1
