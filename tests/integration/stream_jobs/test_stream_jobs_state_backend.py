"""Tests that the windows job changes its state backend without losing or doubling a fact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sparkfuse_stream_jobs.checkpoints import checkpoint_directory, latest_checkpoint
from tests.integration.stream_jobs import upgrade_facts
from tests.integration.stream_jobs.savepoints import PREFIX, SavepointJob, create_topics, environment_of, start_from
from tests.integration.stream_jobs.test_stream_jobs_upgrade import PRODUCER_TIME, SAVEPOINT, assert_exact
from tests.integration.stream_jobs.upgrade_facts import APP_ID, TASKS, facts_after, facts_before
from tests.integration.stream_jobs.windows_seen import Seen
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


def test_changed_state_backend_keeps_all_sums(kafka_bootstrap: str, repository: Path, tmp_path: Path) -> None:
    """The job starts from a savepoint of RocksDB with the heap, is killed, and starts with RocksDB again.

    The windows that were open at each change have all their facts exactly once.
    """
    create_topics(kafka_bootstrap, PRODUCER_TIME)
    upgrade_facts.send(kafka_bootstrap, f"{PREFIX}.facts", upgrade_facts.placeholders(facts_before()))
    start_from(repository / SAVEPOINT, "windows", tmp_path / "windows")
    environment = environment_of("windows", kafka_bootstrap, tmp_path) | {"SPARKFUSE_CHECKPOINT_MS": "500"}
    seen = Seen(kafka_bootstrap, PREFIX)
    directory = checkpoint_directory(tmp_path / "windows", "windows")
    heap = start(environment, "hashmap", tmp_path / "heap.log")
    try:
        upgrade_facts.send(kafka_bootstrap, f"{PREFIX}.facts", facts_after()[:2])
        seen.wait_for(APP_ID, "stage_live", lambda row: row.stage.finished_tasks == TASKS - 1)
        known = latest_checkpoint(directory)
        wait_for(lambda: latest_checkpoint(directory) != known, 60, "a checkpoint of the heap")
    finally:
        heap.kill()
    disk = start(environment, "rocksdb", tmp_path / "disk.log")
    try:
        upgrade_facts.send(kafka_bootstrap, f"{PREFIX}.facts", facts_after()[2:])
        seen.wait_for(APP_ID, "application_ended", lambda row: True)
    finally:
        disk.stop()
        seen.close()

    assert_exact(seen)


def start(environment: Mapping[str, str], backend: str, log: Path) -> SavepointJob:
    """Start the windows job with a state backend."""
    job = SavepointJob(["windows"], {**environment, "SPARKFUSE_WINDOWS_STATE_BACKEND": backend}, log)
    job.wait_until_running()
    return job
