"""Measures the windows job: its CPU time per fact, compared with only reading the fact, and the delay of its rows.

``python -m tests.bench.bench_windows`` starts its own broker, needs an idle machine, and takes about five minutes.
A CPU figure is the difference between a long and a short run in one warm JVM, so it excludes start-up and compilation.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated import fact_pb2, live_pb2
from sparkfuse_contracts.settings import STATE_BACKENDS, Settings
from sparkfuse_stream_jobs import windows
from sparkfuse_stream_jobs.environment import BUSY_JVM_ARGS, table_environment
from sparkfuse_stream_jobs.state_backend import OPTION

ROOT = Path(__file__).parents[2]
APPLICATIONS = 20
STAGES_AT_ONCE = 5
FACTS_PER_SECOND = 10_000
STAGE_SECONDS = 30
RUNNING_TASKS = 200
FLOOR_COLUMNS = """CREATE TEMPORARY TABLE facts (
  app_id STRING, kind STRING,
  task_ended ROW<stage_id INT, stage_attempt INT, duration_ms BIGINT, cpu_ns BIGINT>,
  arrived_at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"""


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", nargs=2, type=int, default=[1_000_000, 3_000_000], metavar=("SHORT", "LONG"))
    parser.add_argument("--latency-seconds", type=int, default=60, help="length of the delay measurement; 0 skips it")
    parser.add_argument(
        "--silent", type=int, default=0, help="measure only the CPU for this number of silent applications"
    )
    parser.add_argument("--state-backend", choices=STATE_BACKENDS, default=STATE_BACKENDS[0])
    parser.add_argument("--jvm-args", default=BUSY_JVM_ARGS, help="JVM_ARGS of the job")
    arguments = parser.parse_args()
    os.environ["JVM_ARGS"] = arguments.jvm_args
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        settings = replace(
            Settings.from_environment({}), kafka_bootstrap=bootstrap, topic_prefix="bench", home=Path(folder, "home"),
            flink_libs=ROOT / "build" / "flink-libs", windows_state_backend=arguments.state_backend,
        )  # fmt: skip
        print(f"load before the start {os.getloadavg()[0]:.1f}", flush=True)
        if arguments.silent:
            measure_silence(settings, arguments.silent)
            return
        if arguments.latency_seconds:
            measure_latency(settings, arguments.latency_seconds)
        measure_cpu(settings, *arguments.facts)


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[str]:
    """Start a Kafka broker on free ports, and yield its address."""
    layout = Layout.from_environment(folder / "kafka", Ports.free(), environment={})
    service = Broker(layout, ROOT / "build" / "kafka-libs").service()
    process = Process(service, layout.logs / "kafka.log")
    try:
        deadline = time.monotonic() + service.ready_seconds
        while not service.ready():
            if time.monotonic() > deadline:
                raise SystemExit("the broker did not start")
        yield layout.kafka_bootstrap
    finally:
        process.stop()


def facts(count: int, running: int = APPLICATIONS) -> Iterator[tuple[float, fact_pb2.Fact]]:
    """Yield facts of tasks that start, report progress and end, each with the time of its event in seconds."""
    applications = [BusyApplication(number) for number in range(running)]
    for number in range(count):
        second = number / FACTS_PER_SECOND
        yield second, applications[number % running].next_fact(second)


class BusyApplication:
    """One application with several running stages and a fixed number of running tasks."""

    def __init__(self, number: int) -> None:
        self._app_id = f"application-{number:04d}"
        self._running: deque[tuple[int, int]] = deque()
        self._facts = self._tasks = 0

    def next_fact(self, second: float) -> fact_pb2.Fact:
        """Return the next fact: a start while slots are free, otherwise an end, sometimes progress."""
        fact = fact_pb2.Fact(
            event_id=self._facts.to_bytes(16, "big"), event_time_ms=int(second * 1000), cluster="bench", tenant="team",
            app_id=self._app_id, app_attempt=1, app_start_ms=1, collector="driver-00000001", lane="bulk",
            seq=self._facts,
        )  # fmt: skip
        self._facts += 1
        if self._facts % 11 == 0 and self._running:
            fact.task_progress.MergeFrom(progress(*self._running[self._facts % len(self._running)]))
        elif len(self._running) < RUNNING_TASKS:
            stage = int(second / STAGE_SECONDS) * STAGES_AT_ONCE + self._tasks % STAGES_AT_ONCE
            self._running.append((stage, self._tasks))
            fact.task_started.MergeFrom(started(stage, self._tasks))
            self._tasks += 1
        else:
            fact.task_ended.MergeFrom(ended(*self._running.popleft()))
        return fact


def started(stage: int, task: int) -> fact_pb2.TaskStarted:
    """Return the start of a task."""
    return fact_pb2.TaskStarted(
        stage_id=stage, stage_attempt=0, task_id=task, task_index=task, executor_id="1", host="host-0001", launched_ms=1
    )


def ended(stage: int, task: int) -> fact_pb2.TaskEnded:
    """Return the successful end of a task with the usual metrics."""
    return fact_pb2.TaskEnded(
        stage_id=stage, stage_attempt=0, task_id=task, task_index=task, executor_id="1", host="host-0001",
        launched_ms=1, finished_ms=1 + task % 9000, duration_ms=task % 9000, outcome="success", has_metrics=True,
        run_ms=task % 8000, cpu_ns=task * 1000 % 10**9, gc_ms=task % 50, input_bytes=task * 977 % 10**8,
        input_records=task % 10**6, shuffle_read_bytes=task * 3, shuffle_write_bytes=task * 5,
    )  # fmt: skip


def progress(stage: int, task: int) -> fact_pb2.TaskProgress:
    """Return the progress of a running task."""
    return fact_pb2.TaskProgress(
        stage_id=stage, stage_attempt=0, task_id=task, task_index=task, executor_id="1", host="host-0001",
        age_ms=task % 5000, stalled_ms=0, cpu_ns=5, input_bytes=task,
    )  # fmt: skip


def measure_cpu(settings: Settings, short: int, long: int) -> None:
    """Print the CPU time per fact in us, for only reading a fact and for the whole job."""
    settings = replace(settings, topic_prefix="bench-cpu")
    ensure_cpu_topics(settings)
    ends = write(settings, short, long)
    run_case(settings, "whole", ends[short], "warm-up")
    for case in ("floor", "whole"):
        few, short_wall, _ = run_case(settings, case, ends[short], f"{case}-short")
        many, wall, memory = run_case(settings, case, ends[long], f"{case}-long")
        cost = (many - few) / (long - short) * 1e6
        print(
            f"{case}: {cost:.2f} us CPU a fact ({few:.1f} s and {many:.1f} s for {short} and {long} facts), "
            f"{(long - short) / (wall - short_wall):,.0f} facts/s, JVM {memory} MB, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def ensure_cpu_topics(settings: Settings) -> None:
    """Create topics that keep the producer's timestamps, so that windows have as many facts as at the real rate."""
    stamps = {"facts": "CreateTime", "live": "LogAppendTime", "dead-letters": "LogAppendTime"}
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    created = admin.create_topics(
        [
            NewTopic(f"{settings.topic_prefix}.{name}", 2, config={"message.timestamp.type": stamp})
            for name, stamp in stamps.items()
        ]
    )
    for future in created.values():
        future.result(30)


def write(settings: Settings, short: int, long: int) -> dict[int, list[int]]:
    """Write the facts, and return the end offsets of the partitions after ``short`` and ``long`` facts."""
    topic, now_ms = f"{settings.topic_prefix}.facts", int(time.time() * 1000)
    producer = Producer(
        {
            "bootstrap.servers": settings.kafka_bootstrap,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "linger.ms": 50,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 500_000,
        }
    )
    ends, size = {}, 0
    for place, (second, fact) in enumerate(facts(long), 1):
        value = fact.SerializeToString()
        size += len(value)
        while True:
            try:
                producer.produce(topic, value, fact.app_id, timestamp=now_ms + int(second * 1000))
                break
            except BufferError:
                producer.poll(0.5)
        if place in {short, long}:
            producer.flush()
            ends[place] = end_offsets(settings, topic)
    print(
        f"{long} facts of {size / long:.0f} bytes, {APPLICATIONS} applications, {STAGES_AT_ONCE} stages at once in each"
    )
    return ends


def end_offsets(settings: Settings, topic: str) -> list[int]:
    """Return the end offset of each of the two partitions."""
    consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "bench"})
    try:
        return [consumer.get_watermark_offsets(TopicPartition(topic, number))[1] for number in range(2)]
    finally:
        consumer.close()


def run_case(settings: Settings, case: str, ends: list[int], name: str) -> tuple[float, float, int]:
    """Run a job on a limited number of facts to its end; return the JVM's CPU seconds, wall seconds and resident MB."""
    before, began = jvm_seconds(), time.monotonic()
    options = {
        "restart-strategy.type": "none",
        "taskmanager.memory.managed.size": windows.MANAGED_MEMORY,
        OPTION: settings.windows_state_backend,
    }
    _, tables = table_environment(name, settings, mini_cluster=options)
    bounds = ";".join(f"partition:{number},offset:{end}" for number, end in enumerate(ends))
    statements = floor(tables, settings, bounds) if case == "floor" else whole(tables, settings, bounds)
    statements.execute().wait()
    jvm = java()
    return jvm_seconds() - before, time.monotonic() - began, jvm.memory_info().rss >> 20 if jvm else 0


def bounded(text: str, bounds: str) -> str:
    """Return the SQL of the source table with end offsets."""
    end = f"'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = '{bounds}',\n"
    return text.replace("'value.format' = 'sparkfuse-fact'", f"{end}  'value.format' = 'sparkfuse-fact'")


def floor(tables: Any, settings: Settings, bounds: str) -> Any:
    """Define a job that only reads, decodes a few columns, filters and drops.

    The cost of this job is the minimum cost of a Flink consumer.
    """
    text = windows.statement("facts", settings)
    options = text[text.index(") WITH (") :]
    tables.execute_sql(bounded(FLOOR_COLUMNS + "\n" + options, bounds))
    tables.execute_sql(
        "CREATE TEMPORARY TABLE dropped (app_id STRING, stage_id INT, duration_ms BIGINT, cpu_ns BIGINT) "
        "WITH ('connector' = 'blackhole')"
    )
    inserts = tables.create_statement_set()
    inserts.add_insert_sql(
        "INSERT INTO dropped SELECT app_id, task_ended.stage_id, task_ended.duration_ms, task_ended.cpu_ns "
        "FROM facts WHERE kind = 'task_ended'"
    )
    return inserts


def whole(tables: Any, settings: Settings, bounds: str) -> Any:
    """Define the whole windows job with end offsets."""
    return windows.define(tables, settings, lambda name, given: bounded(windows.statement(name, given), bounds))


def java() -> psutil.Process | None:
    """Return the JVM that runs Flink; None if there is none."""
    for child in psutil.Process().children(recursive=True):
        if child.name() == "java" and any("-Dsparkfuse.job=" in part for part in child.cmdline()):
            return child
    return None


def jvm_seconds() -> float:
    """Return the CPU time of the JVM so far, in seconds."""
    jvm = java()
    return sum(jvm.cpu_times()[:2]) if jvm else 0.0


def measure_latency(settings: Settings, seconds: int) -> None:
    """Print the delay from the end of a window to the records of its rows in the topic live, by the broker's clock."""
    settings = replace(settings, topic_prefix="bench-latency")
    with running_job(settings):
        delays = delays_of_rows(settings, seconds)
    marks = statistics.quantiles(delays, n=20)
    print(
        f"delay after the end of the window: p50 {statistics.median(delays):.0f} ms, p95 {marks[18]:.0f} ms, "
        f"max {max(delays):.0f} ms, {len(delays)} rows, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


@contextlib.contextmanager
def running_job(
    settings: Settings, jvm_args: str | None = None, more: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Run the job as a process on its own topics, and yield its process id.

    ``jvm_args`` replaces the JVM arguments, and ``more`` adds environment variables.
    """
    ensure_topics(settings)
    environment = {
        "SPARKFUSE_HOME": str(settings.home / settings.topic_prefix),
        "SPARKFUSE_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": settings.topic_prefix,
        "SPARKFUSE_FLINK_LIBS": str(settings.flink_libs),
        "SPARKFUSE_WINDOWS_STATE_BACKEND": settings.windows_state_backend,
        **(more or {}),
    }
    if jvm_args is not None:
        environment["JVM_ARGS"] = jvm_args
    job = subprocess.Popen([sys.executable, "-m", "sparkfuse_stream_jobs.windows"], env={**os.environ, **environment})
    try:
        yield job.pid
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait(60)


def measure_silence(settings: Settings, applications: int) -> None:
    """Print the CPU time of the job while only ticks arrive, without applications and with silent applications."""
    settings = replace(settings, topic_prefix="bench-silence")
    with running_job(settings):
        consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "silence"})
        consumer.assign([TopicPartition(f"{settings.topic_prefix}.live", number, 0) for number in range(2)])
        for silent in (0, applications):
            begin_silent(settings, silent)
            quiet_rows(consumer, silent, windows=6)
            before = jvm_seconds()
            rows, seconds = quiet_rows(consumer, silent, windows=18)
            print(
                f"{silent} silent applications: {(jvm_seconds() - before) / seconds * 100:.1f} % of a core, "
                f"{rows / seconds:.0f} rows a second, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        consumer.close()


def begin_silent(settings: Settings, count: int) -> None:
    """Send the facts of applications that start a job and are silent from then on."""
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "partitioner": "murmur2_random"})
    for number in range(count):
        fact = fact_pb2.Fact(
            event_time_ms=1, cluster="bench", tenant="team", app_id=f"silent-{number:04d}", app_attempt=1,
            app_start_ms=1, collector="driver-00000001", lane="reserved",
        )  # fmt: skip
        for seq, kind in enumerate(("application_started", "job_started", "executor_added")):
            fact.seq = seq
            getattr(fact, kind).SetInParent()
            producer.produce(f"{settings.topic_prefix}.facts", fact.SerializeToString(), fact.app_id)
    producer.flush(30)


def quiet_rows(consumer: Consumer, silent: int, windows: int) -> tuple[int, float]:
    """Wait until enough windows have rows of all silent applications; return the number of rows and the seconds."""
    rows_of: dict[int, int] = defaultdict(int)
    began = time.monotonic()
    while sum(count >= max(1, silent) for count in rows_of.values()) < windows:
        if time.monotonic() - began > 60 + 20 * windows:
            raise SystemExit(f"{silent} silent applications had no rows in {windows} windows")
        for message in consumer.consume(5000, timeout=0.2):
            row = live_pb2.LiveRow.FromString(message.value())
            rows_of[row.window_end_ms] += row.view == ("app_live" if silent else "tick")
    return sum(rows_of.values()), time.monotonic() - began


def delays_of_rows(settings: Settings, seconds: int) -> list[float]:
    """Send 500 facts a second, and return the delay of each row after the first windows, in ms."""
    consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "latency"})
    consumer.assign([TopicPartition(f"{settings.topic_prefix}.live", number, 0) for number in range(2)])
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "partitioner": "murmur2_random"})
    source, delays, first = facts(10**9), [], 0.0
    while not first or time.monotonic() - first < seconds + 15:
        for _ in range(50):
            _, fact = next(source)
            producer.produce(f"{settings.topic_prefix}.facts", fact.SerializeToString(), fact.app_id)
        producer.poll(0)
        for message in consumer.consume(1000, timeout=0.1):
            row = live_pb2.LiveRow.FromString(message.value())
            first = first or time.monotonic()
            if time.monotonic() - first > 15:
                delays.append(message.timestamp()[1] - row.window_end_ms)
    producer.flush(30)
    consumer.close()
    return delays


if __name__ == "__main__":
    main()
