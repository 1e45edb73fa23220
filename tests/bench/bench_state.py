"""Measures whether state and memory of both jobs stay flat: a month of one application, and many short applications.

``python -m tests.bench.bench_state`` starts its own broker. The broker keeps the times that this program gives to
records, so a month passes in minutes: all times are in the future, and each step advances the time of every partition.
After each part of the load, the jobs read everything, save a checkpoint and collect garbage.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from sparkfuse_contracts.generated import fact_pb2
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topics
from sparkfuse_stream_jobs.ticks import clock_app_ids
from tests.bench.bench_detect import broker, free_port
from tests.bench.bench_windows import running_job
from tests.bench.fact_records import BULK, RESERVED, Encoder, Origin, PendingFact
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
PREFIX = "bench-state"
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
PARTS = 5
IDLE_SECONDS = 900
TASKS_PER_STAGE = 4
# Of this many executors and stages, the end of one is lost.
LOST_ENDS = 100
SHORT_DAYS = 20


class Application:
    """Encodes the facts of one application, with sequence numbers for each lane of each collector."""

    def __init__(self, app_id: str, start_ms: int) -> None:
        self.app_id = app_id
        self._start_ms = start_ms
        self._encoder = self._encoder_of("driver-00000001")
        self._next: Counter[tuple[str, str]] = Counter()

    def fact(
        self, at_ms: int, kind: str, key: str, message: object, lane: str = BULK, executor: str = ""
    ) -> tuple[str, int, bytes]:
        """Return the key, the time and the value of a record; the driver sends it, or the plugin of an executor."""
        seq = self._next[executor, lane]
        self._next[executor, lane] += 1
        encoder = self._encoder_of(f"executor-{executor}-00000001") if executor else self._encoder
        return self.app_id, at_ms, encoder.record(PendingFact(lane, at_ms, kind, key, message), seq)

    def _encoder_of(self, collector: str) -> Encoder:
        return Encoder(Origin("bench", "team", self.app_id, 1, self._start_ms, collector))

    def started(self, at_ms: int) -> tuple[str, int, bytes]:
        """Return the start of the application."""
        return self.fact(at_ms, "application_started", "", fact_pb2.ApplicationStarted(name=self.app_id), RESERVED)

    def ended(self, at_ms: int) -> tuple[str, int, bytes]:
        """Return the end of the application."""
        return self.fact(at_ms, "application_ended", "", fact_pb2.ApplicationEnded(ended_ms=at_ms), RESERVED)

    def stage(self, number: int, executor: str, at_ms: int) -> Iterator[tuple[str, int, bytes]]:
        """Yield a stage whose tasks all run on one executor."""
        begun = fact_pb2.StageStarted(
            stage_id=number, stage_attempt=0, num_tasks=TASKS_PER_STAGE, name="count at orders.py:1"
        )
        yield self.fact(at_ms, "stage_started", f"{number}", begun, RESERVED)
        for place in range(TASKS_PER_STAGE):
            task_id = number * TASKS_PER_STAGE + place
            task = fact_pb2.TaskStarted(stage_id=number, stage_attempt=0, task_id=task_id, executor_id=executor)
            yield self.fact(at_ms, "task_started", f"{number}-{place}", task)
            task_ended = fact_pb2.TaskEnded(
                stage_id=number, stage_attempt=0, task_id=task_id, executor_id=executor, outcome="success",
                duration_ms=1000, has_metrics=True,
            )  # fmt: skip
            yield self.fact(at_ms + 1000, "task_ended", f"{number}-{place}", task_ended)
        if number % LOST_ENDS != LOST_ENDS - 1:
            ended = fact_pb2.StageEnded(stage_id=number, stage_attempt=0)
            yield self.fact(at_ms + 1001, "stage_ended", f"{number}", ended, RESERVED)

    def samples(self, executor: str, at_ms: int) -> Iterator[tuple[str, int, bytes]]:
        """Yield two samples of an executor."""
        for later_ms in (1000, MINUTE_MS):
            sample = fact_pb2.ExecutorSample(executor_id=executor, heap_used_bytes=1 << 30)
            yield self.fact(at_ms + later_ms, "executor_sample", f"{executor}-{later_ms}", sample, executor=executor)

    def executor(self, name: str, at_ms: int) -> tuple[str, int, bytes]:
        """Return the start of an executor."""
        added = fact_pb2.ExecutorAdded(executor_id=name, host=f"host-{int(name) % 200}")
        return self.fact(at_ms, "executor_added", name, added, RESERVED)

    def executor_end(self, name: str, at_ms: int) -> tuple[str, int, bytes]:
        """Return the end of an executor."""
        removed = fact_pb2.ExecutorRemoved(executor_id=name, reason="Executor idle for more than 60 s")
        return self.fact(at_ms, "executor_removed", name, removed, RESERVED)


def month_of_one_application(start_ms: int, executors: int, days: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield the facts of an application whose executors live for an hour each and run one stage each."""
    app, span = Application("long-lived", start_ms), days * DAY_MS
    yield app.started(start_ms)
    ends: list[tuple[int, str]] = []
    for number in range(executors):
        at_ms = start_ms + 1000 + span * number // executors
        while ends and ends[0][0] <= at_ms:
            ended_ms, name = ends.pop(0)
            if int(name) % LOST_ENDS:
                yield app.executor_end(name, ended_ms)
        yield app.executor(str(number), at_ms)
        yield from app.stage(number, str(number), at_ms)
        yield from app.samples(str(number), at_ms)
        ends.append((at_ms + HOUR_MS, str(number)))


def short_applications(start_ms: int, count: int, days: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield the facts of applications that run one stage on one executor and end."""
    for number in range(count):
        at_ms = start_ms + days * DAY_MS * number // count
        app = Application(f"short-{number:05d}", at_ms)
        yield app.started(at_ms)
        yield app.executor("1", at_ms)
        yield from app.stage(0, "1", at_ms)
        yield app.ended(at_ms + 2000)


class Bench:
    """Sends records with the times of the load, and measures both jobs."""

    def __init__(self, bootstrap: str, windows: int, detect: DetectJob, ports: dict[str, int]) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 50,
                "compression.type": "lz4",
            }
        )
        self._clocks = clock_app_ids(topics()["facts"].partitions)
        self._ports = ports
        self._java = {"windows": _java_of(windows), "detect": _java_of(detect.launcher())}
        self._sent = 0

    def run(self, name: str, facts: Iterator[tuple[str, int, bytes]], start_ms: int, days: int) -> int:
        """Send the facts and print a line for each part; return the end of the load in ms."""
        end_ms = start_ms + days * DAY_MS
        marks = [start_ms + days * DAY_MS * part // PARTS for part in range(1, PARTS + 1)]
        step_ms = start_ms
        for app_id, at_ms, value in itertools.chain(facts, [("", end_ms + MINUTE_MS, b"")]):
            while step_ms <= at_ms:
                self._advance(step_ms)
                if marks and step_ms >= marks[0]:
                    marks.pop(0)
                    self._print(name)
                step_ms += MINUTE_MS
            if value:
                self._send(app_id, at_ms, value)
        return end_ms + HOUR_MS

    def _advance(self, at_ms: int) -> None:
        tick = fact_pb2.Fact(event_time_ms=at_ms, tick=fact_pb2.Tick()).SerializeToString()
        for clock in self._clocks:
            self._producer.produce(f"{PREFIX}.facts", tick, clock, timestamp=at_ms)
        self._producer.poll(0)

    def _send(self, app_id: str, at_ms: int, value: bytes) -> None:
        self._producer.produce(f"{PREFIX}.facts", value, app_id, timestamp=at_ms)
        self._sent += 1
        while len(self._producer) > 50_000:
            self._producer.poll(0.1)

    def _print(self, name: str) -> None:
        assert self._producer.flush(120) == 0
        for job in self._ports:
            wait_for(lambda job=job: self._idle(job), IDLE_SECONDS, f"{job} to read everything")
        states = {job: self._checkpoint(job) / 1e6 for job in self._ports}
        heaps = {job: _used_heap(java) / 1e6 for job, java in self._java.items()}
        for job in self._ports:
            print(
                f"{name}: {self._sent} facts; {job}: state {states[job]:.2f} MB, heap {heaps[job]:.1f} MB", flush=True
            )

    def _idle(self, job: str) -> bool:
        """Return whether the job has read all records, and reads few for three seconds."""
        before = self._metric(job, "records_read_total")
        time.sleep(3)
        read = self._metric(job, "records_read_total") - before
        return before > 0 and read < 100 and self._metric(job, "pendingRecords") <= 0

    def _checkpoint(self, job: str) -> float:
        """Return the full size of the second checkpoint after this call, in bytes."""
        count = self._metric(job, "numberOfCompletedCheckpoints")
        wait_for(lambda: self._metric(job, "numberOfCompletedCheckpoints") >= count + 2, IDLE_SECONDS, "a checkpoint")
        return self._metric(job, "lastCheckpointFullSize")

    def _metric(self, job: str, name: str) -> float:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[job]}/metrics", timeout=30) as answer:
                text = answer.read().decode()
        except OSError:  # the job has just started, or is busy
            return 0.0
        return sum(float(value) for value in re.findall(rf"^\w*{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


def _java_of(launcher: int) -> int:
    return next(each.pid for each in psutil.Process(launcher).children() if each.name() == "java")


def _used_heap(java: int) -> float:
    """Return the bytes of live objects, after a full collection."""
    subprocess.run(["jcmd", str(java), "GC.run"], check=True, capture_output=True)
    table = subprocess.run(["jcmd", str(java), "GC.class_histogram"], check=True, capture_output=True, text=True).stdout
    return float(table.strip().splitlines()[-1].split()[2])


def keep_times_of_producers(bootstrap: str) -> None:
    """Let the broker keep the times of records, instead of setting them itself."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = ConfigResource(ResourceType.TOPIC, f"{PREFIX}.facts")
    for name, value in (
        ("message.timestamp.type", "CreateTime"),
        ("message.timestamp.after.max.ms", str(400 * DAY_MS)),
    ):
        topic.add_incremental_config(ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET))
    admin.incremental_alter_configs([topic])[topic].result(60)


def main() -> None:
    """Run both loads and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executors", type=int, default=10_000, help="executors of the application that runs a month")
    parser.add_argument("--applications", type=int, default=50_000, help="short applications")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        settings = replace(
            Settings.from_environment({}), kafka_bootstrap=bootstrap, topic_prefix=PREFIX, home=Path(folder, "home"),
            flink_libs=ROOT / "build" / "flink-libs",
        )  # fmt: skip
        ports = {"windows": free_port(), "detect": free_port()}
        detect = DetectJob(bootstrap, PREFIX, Path(folder, "detect"), [], ports["detect"])
        more = {"SPARKFUSE_WINDOW_MS": str(MINUTE_MS), "SPARKFUSE_METRICS_PORT": str(ports["windows"])}
        with running_job(settings, more=more) as windows:
            detect.start()
            try:
                keep_times_of_producers(bootstrap)
                bench = Bench(bootstrap, windows, detect, ports)
                start_ms = time.time_ns() // 1_000_000 + HOUR_MS
                month = month_of_one_application(start_ms, arguments.executors, 30)
                start_ms = bench.run("one application, 30 days", month, start_ms, 30)
                short = short_applications(start_ms, arguments.applications, SHORT_DAYS)
                bench.run(f"short applications, {SHORT_DAYS} days", short, start_ms, SHORT_DAYS)
            finally:
                detect.close()


if __name__ == "__main__":
    main()
