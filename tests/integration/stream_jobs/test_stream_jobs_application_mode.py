"""Restarts the job manager of a job in application mode while the broker is not available."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse.stack.topics import ensure_topics
from tests.flink_application import ApplicationCluster, deployments
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]
LOG_SECONDS = 600
# Flink prints each line of the program twice.
ATTEMPTS = 4
NO_BROKER = "127.0.0.9:9"


@pytest.fixture
def cluster(kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, repository: Path) -> Iterator[ApplicationCluster]:
    """Return a running cluster of the windows job of the environment `production`, with its state in a folder."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    [windows] = [each for each in deployments("production") if each.module == "sparkfuse_stream_jobs.windows"]
    names = ("execution.checkpointing.dir", "execution.checkpointing.savepoint-dir", "high-availability.storageDir")
    folders = {name: (tmp_path / "state" / name).as_uri() for name in names}
    variables = {"SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap, "SPARKFUSE_TOPIC_PREFIX": topic_prefix}
    libs = repository / "build" / "flink-libs"
    cluster = ApplicationCluster(tmp_path / "cluster", libs, windows, variables, folders)
    try:
        cluster.start()
        cluster.wait_until_running(cluster.job)
        yield cluster
    finally:
        cluster.stop()


def test_restarted_job_manager_without_broker_keeps_the_job(cluster: ApplicationCluster) -> None:
    """The program waits for the broker: if it failed, Flink would end the job and delete the address of its state."""
    cluster.wait_for_checkpoint(cluster.job)
    newest = cluster.newest_checkpoint(cluster.job)
    cluster.kill("jobmanager")
    cluster.start_job_manager(SPARKFUSE_KAFKA_BOOTSTRAP=NO_BROKER)
    wait_for(
        lambda: cluster.output("jobmanager").count("waits for Kafka") > ATTEMPTS, LOG_SECONDS, "attempts of the program"
    )
    cluster.kill("jobmanager")
    cluster.start_job_manager()
    cluster.wait_until_running(cluster.job)
    cluster.wait_for_checkpoint(cluster.job)

    assert cluster.restored_checkpoint(cluster.job) >= newest
