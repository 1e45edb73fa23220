"""Writes the savepoints of this release that later releases must restore: ``tests/savepoints``.

``python -m tests.integration.stream_jobs.write_savepoints`` starts a broker and both jobs, and takes a minute. Run it
at a release, after the upgrade tests pass, and commit the result.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse_contracts.topics import topics
from tests.integration.stream_jobs import upgrade_facts, upgrade_rows
from tests.integration.stream_jobs.savepoints import (
    PREFIX,
    START_SECONDS,
    SavepointJob,
    create_topics,
    environment_of,
)
from tests.integration.stream_jobs.upgrade_facts import APP_ID, facts_before
from tests.integration.stream_jobs.windows_seen import Seen
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]


def main() -> int:
    """Write the savepoints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layout = Layout.from_environment(folder / "kafka", Ports.free(), environment={})
        service = Broker(layout, ROOT / "build" / "kafka-libs").service()
        broker = Process(service, folder / "kafka.log")
        try:
            wait_for(service.ready, service.ready_seconds, "the broker")
            write(write_windows(layout.kafka_bootstrap, folder), "windows")
            write(write_detect(layout.kafka_bootstrap, folder), "detect")
        finally:
            broker.stop()
    return 0


def write_windows(bootstrap: str, folder: Path) -> Path:
    """Return a savepoint of the windows job, whose third window is open."""
    create_topics(bootstrap, {"message.timestamp.type": "CreateTime", "retention.ms": "-1"})
    upgrade_facts.send(bootstrap, f"{PREFIX}.facts", facts_before())
    seen = Seen(bootstrap, PREFIX)
    job = SavepointJob(["windows"], environment_of("windows", bootstrap, folder), folder / "windows.log")
    try:
        job.wait_until_running()
        seen.wait_for(APP_ID, "stage_live", lambda row: row.stage.finished_tasks == 2)
        return job.stop_with_savepoint(folder / "savepoints")
    finally:
        job.stop()
        seen.close()


def write_detect(bootstrap: str, folder: Path) -> Path:
    """Return a savepoint of the detect job, in which a finding fires."""
    create_topics(bootstrap, {})
    upgrade_rows.send(bootstrap, upgrade_rows.rows()[0], upgrade_rows.FIRING_MS)
    findings = Consumer({"bootstrap.servers": bootstrap, "group.id": "test"})
    findings.assign([TopicPartition(f"{PREFIX}.findings", each, 0) for each in range(topics()["findings"].partitions)])
    job = SavepointJob(["detect"], environment_of("detect", bootstrap, folder), folder / "detect.log")
    try:
        job.wait_until_running()
        wait_for(lambda: findings.poll(0.2), START_SECONDS, "the finding")
        return job.stop_with_savepoint(folder / "savepoints")
    finally:
        job.stop()
        findings.close()


def write(savepoint: Path, job: str) -> None:
    """Replace the savepoint of a job in the repository."""
    target = ROOT / "tests" / "savepoints" / job
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(savepoint, target)
    print(f"wrote {target}, {sum(file.stat().st_size for file in target.rglob('*'))} bytes")


if __name__ == "__main__":
    sys.exit(main())
