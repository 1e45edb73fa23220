"""Kills the shipper fifty times while logs grow: each fact is sent once, and rows are exact (`make chaos-ship`)."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process, Service
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from tests.integration.collectors.shipping import LOGS, Committed, Shipping, Template, create_all_topics, holes, kinds
from tests.integration.stream_jobs.conftest import RunningJob
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(1800)
KILLS = 50
BROKER_KILLS = 3
APPLICATIONS = 40
# A start takes about a second on an idle machine, so kills happen during the start, the first transaction and later.
MAX_LIFE_SECONDS = 4.0
WAIT_SECONDS = 300


class Writer:
    """Appends a few lines at a time to all logs until the logs are complete."""

    def __init__(self, folder: Path, seconds: float) -> None:
        template = Template(LOGS / "runs" / "healthy-1.zstd")
        self.logs = {f"app-{n}": template.lines(f"app-{n}", 1_795_000_000_000 + n) for n in range(APPLICATIONS)}
        self._folder, self._seconds = folder, seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def start(self) -> None:
        """Start writing the logs in the background."""
        self._thread.start()

    def join(self) -> None:
        """Wait until everything is written."""
        self._thread.join()

    def close(self) -> None:
        """Stop writing."""
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        steps = max(len(lines) for lines in self.logs.values())
        for step in range(steps):
            for name, lines in self.logs.items():
                if step < len(lines):
                    with (self._folder / f"{name}.inprogress").open("ab") as log:
                        log.write(lines[step])
            if self._stop.wait(self._seconds / steps):
                return
        for name in self.logs:
            (self._folder / f"{name}.inprogress").rename(self._folder / name)


@pytest.fixture
def windows(kafka_bootstrap: str, topic_prefix: str, tmp_path: Path) -> Iterator[RunningJob]:
    """The windows job with the topics of this test."""
    create_all_topics(kafka_bootstrap, topic_prefix)
    home = tmp_path / "windows"
    home.mkdir()
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_WINDOW_MS": "1000",
    }
    job = RunningJob("sparkfuse_stream_jobs.windows", environment, tmp_path / "windows.log")
    job.wait_until_running()
    yield job
    job.stop()


def test_fifty_kills_lose_and_duplicate_no_fact(
    kafka_bootstrap: str, topic_prefix: str, windows: RunningJob, tmp_path: Path
) -> None:
    """Each event becomes exactly one committed fact, and each stage's row equals the sum of its tasks."""
    kills = int(os.environ.get("SPARKFUSE_CHAOS_KILLS", KILLS))
    folder = tmp_path / "logs"
    folder.mkdir()
    chance = random.Random(11)
    facts = Committed(kafka_bootstrap, f"{topic_prefix}.facts")
    live = Committed(kafka_bootstrap, f"{topic_prefix}.live")
    writer = Writer(folder, kills * MAX_LIFE_SECONDS / 2)
    shipping = Shipping(kafka_bootstrap, topic_prefix, tmp_path, str(folder), "--look", "0.05")
    writer.start()
    try:
        for _ in range(kills):
            shipping.start()
            until = time.monotonic() + chance.random() * MAX_LIFE_SECONDS
            wait_for(lambda until=until: time.monotonic() > until, 30, "the next kill")
            shipping.kill()
        writer.join()
        shipping.start()
        wait_for(lambda: kinds(facts.facts())["application_ended"] == APPLICATIONS, WAIT_SECONDS, "all ends")
        found = facts.facts()
        expected = sums_of_facts(found)
        wait_for(lambda: sums_of_rows(live) == expected, WAIT_SECONDS, "the windows job to process all facts")
    finally:
        writer.close()
        shipping.kill()
        rows = sums_of_rows(live)
        facts.close()
        live.close()

    assert len({fact.event_id for fact in found}) == len(found)
    assert holes(facts.all()) == {}
    per_log = sum(b'"SparkListenerTaskEnd"' in line for line in writer.logs["app-0"])
    assert kinds(found)["task_ended"] == per_log * APPLICATIONS
    assert rows == expected
    assert len(expected) == 2 * APPLICATIONS


def test_shipper_waits_for_a_killed_broker(tmp_path: Path, repository: Path) -> None:
    """If the broker is killed during transactions, no fact is lost or duplicated."""
    layout = Layout.from_environment(tmp_path / "kafka", Ports.free(), environment={})
    service = Broker(layout, repository / "build" / "kafka-libs").service()
    broker = started(service, layout)
    folder = tmp_path / "logs"
    folder.mkdir()
    create_all_topics(layout.kafka_bootstrap, "away")
    shipping = Shipping(layout.kafka_bootstrap, "away", tmp_path, str(folder), "--look", "0.05")
    writer = Writer(folder, 40.0)
    try:
        shipping.start()
        writer.start()
        for _ in range(BROKER_KILLS):
            until = time.monotonic() + 8.0
            wait_for(lambda until=until: time.monotonic() > until, 30, "the next kill of the broker")
            os.killpg(broker.pid, signal.SIGKILL)
            broker.stop()
            until = time.monotonic() + 4.0
            wait_for(lambda until=until: time.monotonic() > until, 30, "some time without a broker")
            broker = started(service, layout)
        writer.join()
        facts = Committed(layout.kafka_bootstrap, "away.facts")
        wait_for(lambda: kinds(facts.facts())["application_ended"] == APPLICATIONS, WAIT_SECONDS, "all ends")
        found = facts.facts()
        alive = shipping.process is not None and shipping.process.poll() is None
        facts.close()
    finally:
        writer.close()
        shipping.kill()
        broker.stop()

    assert alive
    assert len({fact.event_id for fact in found}) == len(found)
    assert holes(facts.all()) == {}


def started(service: Service, layout: Layout) -> Process:
    broker = Process(service, layout.logs / "kafka.log")
    wait_for(service.ready, service.ready_seconds, "the broker")
    return broker


def sums_of_facts(facts: list[Fact]) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Return tasks, run time and written shuffle bytes of each stage, from its task ends."""
    sums: dict[tuple[str, int], tuple[int, int, int]] = {}
    for fact in facts:
        if fact.HasField("task_ended"):
            task = fact.task_ended
            tasks, run_ms, written = sums.get((fact.app_id, task.stage_id), (0, 0, 0))
            sums[fact.app_id, task.stage_id] = (
                tasks + 1, run_ms + task.run_ms, written + task.shuffle_write_bytes,
            )  # fmt: skip
    return sums


def sums_of_rows(live: Committed) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Return tasks, run time and written shuffle bytes of each stage, from the last row of the stage."""
    last: dict[tuple[str, int], LiveRow] = {}
    for value in live.read():
        row = LiveRow.FromString(value or b"")
        if row.HasField("stage"):
            key = (row.app_id, row.stage.stage_id)
            if key not in last or last[key].row_seq < row.row_seq:
                last[key] = row
    return {
        key: (row.stage.finished_tasks, row.stage.finished_run_ms, row.stage.finished_shuffle_write_bytes)
        for key, row in last.items()
    }
