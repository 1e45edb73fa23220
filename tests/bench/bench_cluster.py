"""Measures the CPU time per record of both Flink jobs on two task managers, at parallelism 1 and at parallelism 2.

``python -m tests.bench.bench_cluster`` starts its own broker and a standalone cluster, and takes about fifteen minutes.
On a machine with free cores, the throughput at parallelism 2 is limited by the task manager with more CPU time per
record. The possible speed-up is therefore the CPU time per record at parallelism 1, divided by this figure. It does not
depend on the load of the machine. A CPU figure is the difference between a long and a short run of a warm job.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated import fact_pb2, finding_pb2, live_pb2
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from sparkfuse_stream_jobs.ticks import clock_app_ids
from tests.bench.bench_detect import ADJACENT_ROWS, broker, now_ms, quiet_rows
from tests.bench.bench_windows import facts
from tests.flink_cluster import FlinkCluster
from tests.kafka import in_order, settings_of
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run, tick
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
PARTITIONS = 2
# Enough keys that their hashes divide them evenly.
APPLICATIONS = 200
# These applications end a batch; together they reach each partition and each instance of a step.
LAST_APPLICATIONS = 16
ANSWER_SECONDS = 1800
OPTIONS = {"execution.checkpointing.interval": "30 s", "heartbeat.timeout": "60000", "heartbeat.interval": "10000"}


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", nargs=2, type=int, default=[300_000, 2_000_000], metavar=("SHORT", "LONG"))
    parser.add_argument("--rows", nargs=2, type=int, default=[300_000, 3_000_000], metavar=("SHORT", "LONG"))
    parser.add_argument("--only", choices=("windows", "detect"), help="measure only one job")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        cluster = FlinkCluster(Path(folder, "cluster"), ROOT / "build" / "flink-libs", OPTIONS)
        try:
            cluster.start()
            for job, counts in (("windows", given.facts), ("detect", given.rows)):
                if given.only in (None, job):
                    measure(cluster, bootstrap, job, counts)
        finally:
            cluster.stop()


def measure(cluster: FlinkCluster, bootstrap: str, job: str, counts: list[int]) -> None:
    """Print the figures of a job. The first run only warms up both task managers."""
    costs = {}
    for number, parallelism in enumerate((2, 1, 2)):
        settings = settings_of(bootstrap, f"bench-{job}-{number}")
        ensure_topics(settings)
        load: Load = FactLoad(settings) if job == "windows" else RowLoad(settings)
        costs[parallelism] = cpu_per_record(
            cluster, settings, load, f"sparkfuse_stream_jobs.{job}", parallelism, counts
        )
        load.close()
    total, busier = sum(costs[1]), max(costs[2])
    print(
        f"{job}: {total:.2f} us of CPU a record at parallelism 1; at parallelism 2 {sum(costs[2]):.2f} us, of these "
        f"{busier:.2f} us on the busier task manager; possible speed-up {total / busier:.2f}",
        flush=True,
    )


def cpu_per_record(
    cluster: FlinkCluster, settings: Settings, load: Load, module: str, parallelism: int, counts: list[int]
) -> list[float]:
    """Run a job, and return the CPU time of each task manager per record in us."""
    environment = {
        "SPARKFUSE_HOME": "/nonexistent",
        "SPARKFUSE_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": settings.topic_prefix,
    }
    job = cluster.submit(module, environment, "-p", str(parallelism))
    load.prepare()
    spent = []
    for size in (counts[0], *counts):  # the first batch warms up the job
        before, began = cpu_of_task_managers(cluster), time.monotonic()
        load.run(size)
        after, wall = cpu_of_task_managers(cluster), time.monotonic() - began
        spent.append([late - early for early, late in zip(before, after, strict=True)])
    _, short, long = spent
    records = counts[1] - counts[0]
    print(
        f"{module} at parallelism {parallelism}: {counts[1]} records in {wall:.0f} s, "
        f"steps with another parallelism: {sorted(cluster.parallelism(job) - {parallelism})}, "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    for step, share in cluster.largest_shares(job).items():
        print(f"  {share:.0%} of the records on one instance: {step[:90]}", flush=True)
    cluster.cancel(job)
    return [1e6 * (many - few) / records for few, many in zip(short, long, strict=True)]


def cpu_of_task_managers(cluster: FlinkCluster) -> list[float]:
    """Return the CPU seconds of each task manager and of its Python processes."""
    found = []
    for number in (1, 2):
        process = psutil.Process(cluster.process_id(f"taskmanager-{number}"))
        found.append(sum(sum(each.cpu_times()[:2]) for each in [process, *process.children(recursive=True)]))
    return found


class Load(ABC):
    """Sends records in batches, and waits until the job has processed a batch."""

    def __init__(self, settings: Settings, reads: str) -> None:
        self._settings = settings
        self._producer = in_order(
            settings.kafka_bootstrap, **{"linger.ms": 50, "queue.buffering.max.messages": 500_000}
        )
        self._consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "bench"})
        name = f"{settings.topic_prefix}.{reads}"
        parts = PARTITIONS if reads == "live" else topics()[reads].partitions
        self._consumer.assign([TopicPartition(name, number, 0) for number in range(parts)])
        self._batches = count()
        self._waiting: set[str] = set()

    def run(self, size: int) -> None:
        """Send ``size`` records and the end of the batch, and wait for the answers to the end."""
        self._waiting = {f"end-{next(self._batches)}-{number}" for number in range(LAST_APPLICATIONS)}
        self._send(size)
        assert self._producer.flush(120) == 0
        wait_for(self._answered, ANSWER_SECONDS, f"the end of {self._settings.topic_prefix}")

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _produce(self, topic: str, value: bytes, key: str, **more: int) -> None:
        while True:
            try:
                self._producer.produce(f"{self._settings.topic_prefix}.{topic}", value, key, **more)
                return
            except BufferError:
                self._producer.poll(0.5)

    def _answered(self) -> bool:
        for message in self._consumer.consume(5000, timeout=0.2):
            if message.error() is None:
                self._waiting.discard(self._answer(message.value()))
        return not self._waiting

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the topic after the job has started."""

    @abstractmethod
    def _send(self, size: int) -> None:
        """Send ``size`` records, and the end of the batch."""

    @abstractmethod
    def _answer(self, record: bytes) -> str:
        """Return the name of the end that a record of the job answers, or another text."""


class FactLoad(Load):
    """Facts of busy applications for the windows job, with the times of 10,000 facts a second."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, "live")
        self._facts = facts(10**12, APPLICATIONS)
        self._start_ms = now_ms()

    def prepare(self) -> None:
        """Let the topic keep the times of the producer; the job refuses such a topic at its start."""
        topic = ConfigResource(ResourceType.TOPIC, f"{self._settings.topic_prefix}.facts")
        topic.add_incremental_config(
            ConfigEntry("message.timestamp.type", "CreateTime", incremental_operation=AlterConfigOpType.SET)
        )
        admin = AdminClient({"bootstrap.servers": self._settings.kafka_bootstrap})
        for changed in admin.incremental_alter_configs([topic]).values():
            changed.result(30)

    def _send(self, size: int) -> None:
        at = self._start_ms
        for second, fact in islice(self._facts, size):
            at = self._start_ms + int(second * 1000)
            self._produce("facts", fact.SerializeToString(), fact.app_id, timestamp=at)
        for name in self._waiting:
            for seq, kind in enumerate(("application_started", "application_ended")):
                fact = fact_pb2.Fact(cluster="bench", app_id=name, app_attempt=1, app_start_ms=1, seq=seq,
                                     collector="driver-00000001", lane="reserved", event_time_ms=at)  # fmt: skip
                getattr(fact, kind).SetInParent()
                self._produce("facts", fact.SerializeToString(), name, timestamp=at)
        for name in clock_app_ids(PARTITIONS, PARTITIONS):  # these ticks end the last window
            fact = fact_pb2.Fact(event_time_ms=at, app_id=name, collector="clock")
            fact.tick.sent_ms = at
            self._produce("facts", fact.SerializeToString(), name, timestamp=at + 2 * WINDOW_MS)

    def _answer(self, record: bytes) -> str:
        row = live_pb2.LiveRow.FromString(record)
        return row.app_id if row.view == "application_ended" else ""


class RowLoad(Load):
    """Rows of running stages for the detect job that match no rule."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, "findings")
        self._rows: Iterator[live_pb2.LiveRow] = quiet_rows(10**12, "stage", ADJACENT_ROWS)

    def prepare(self) -> None:
        """Do nothing."""

    def _send(self, size: int) -> None:
        at = 0
        for row in islice(self._rows, size):
            at = max(at, row.window_end_ms)
            self._produce("live", row.SerializeToString(), row.app_id)
        for name in self._waiting:
            run = Run(name, 1, name)
            for row in (run.started(at), run.stage_started(at), run.task(at, 90_000)):
                self._produce("live", row.SerializeToString(), name)
        for partition in range(PARTITIONS):
            self._produce("live", tick(at, partition).SerializeToString(), "", partition=partition)

    def _answer(self, record: bytes) -> str:
        return from_json(finding_pb2.Finding, record).job_key


if __name__ == "__main__":
    main()
