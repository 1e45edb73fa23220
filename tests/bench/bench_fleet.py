"""Measures CPU, memory and delay of one windows job and one detect job with hundreds of running applications.

``python -m tests.bench.bench_fleet`` starts its own broker and sends facts in real time (tests/bench/fleet.py).
The bench takes a few minutes longer than ``--minutes``. The delay of a row is the time from the end of its window to
its record in the topic ``live``, by the broker's clock. Probes measure the delay of the detect job:
a probe consists of the rows of a hung task, and ends when their finding arrives.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.metric_names import ROWS_TO_PYTHON
from sparkfuse_contracts.settings import STATE_BACKENDS, Settings
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.knowledge.baseline import LIMIT
from tests.bench.bench_detect import broker, free_port
from tests.bench.bench_windows import running_job
from tests.bench.fleet import Fleet, RealStage, Shape, real_stages
from tests.bench.fleet_history import baselines
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.kafka import settings_of
from tests.unit.stream_jobs.detect_rows import Run
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "logs"
PREFIX = "bench-fleet"
MEASURE_SECONDS = 15
RAMP_MS = 60_000
SETTLED_SECONDS = 120
CATCH_UP_SECONDS = 180


@dataclass(frozen=True)
class Measure:
    """State at one time: ``cpu`` [s] and ``rss`` [MB] of each job, and the number of rows that detect has not read.

    ``answered_ms`` is the delay of the last probe with a finding, and ``waiting`` the number of probes without a
    finding.
    """

    second: float
    cpu: dict[str, float]
    rss: dict[str, int]
    unread_rows: int
    delay_ms: float
    answered_ms: float
    waiting: int


def main() -> None:
    """Measure the jobs and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applications", type=int, default=500)
    parser.add_argument("--stages", type=int, default=20, help="running stages of each application")
    parser.add_argument("--slots", type=int, default=2, help="running tasks of each stage")
    parser.add_argument("--task-seconds", type=float, default=20.0, help="mean duration of a task")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--history", type=int, default=20, help="earlier runs of each job in its baselines")
    parser.add_argument(
        "--windows-jvm", default="-Xms256m -Xmn112m -Xmx1g -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError",
        help="JVM_ARGS of the windows job; the default includes the C2 compiler",
    )  # fmt: skip
    parser.add_argument("--state-backend", choices=STATE_BACKENDS, default=STATE_BACKENDS[0], help="of the windows job")
    arguments = parser.parse_args()
    if not 0 <= arguments.history <= LIMIT:
        parser.error(f"--history must be between 0 and {LIMIT}, the limit of a baseline")
    shape = Shape(arguments.applications, arguments.stages, arguments.slots, arguments.task_seconds * 1000)
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        settings = replace(
            Settings.from_environment({}), kafka_bootstrap=bootstrap, topic_prefix=PREFIX, home=Path(folder, "home"),
            flink_libs=ROOT / "build" / "flink-libs", windows_state_backend=arguments.state_backend,
        )  # fmt: skip
        ensure_topics(settings_of(bootstrap, PREFIX))
        stages = real_stages([*sorted(LOGS.glob("runs/healthy-*")), *sorted(LOGS.glob("detection/history-*"))])
        seed_history(settings, baselines(stages, shape, arguments.history, 1, time.time_ns() // 1_000_000))
        print(f"load before the start {os.getloadavg()[0]:.1f}", flush=True)
        detect = DetectJob(bootstrap, PREFIX, Path(folder, "detect"), [], free_port())
        with running_job(settings, arguments.windows_jvm) as windows:
            detect.start()
            try:
                jobs = {"windows": windows, "detect": detect.launcher(), "broker": broker_id(), "bench": os.getpid()}
                Measurement(settings, shape, stages, detect, jobs).run(arguments.minutes * 60)
            finally:
                detect.close()


def seed_history(settings: Settings, known: Iterable[Baseline]) -> None:
    """Write the baselines of earlier runs, as the detect job would have written them."""
    producer, count = Producer({"bootstrap.servers": settings.kafka_bootstrap, "linger.ms": 50}), 0
    for count, baseline in enumerate(known, start=1):  # noqa: B007 - printed after the loop
        producer.produce(f"{PREFIX}.baselines", to_json(baseline), record_key("baselines", baseline))
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush(60)
    print(f"{count} stages have a baseline", flush=True)


def broker_id() -> int:
    """Return the process id of the broker that this process started."""
    children = psutil.Process().children()
    return next(child.pid for child in children if any("kafka.Kafka" in part for part in child.cmdline()))


class Measurement:
    """Sends the facts of the fleet in real time, and measures the jobs at intervals."""

    def __init__(
        self, settings: Settings, shape: Shape, stages: Sequence[RealStage], detect: DetectJob, jobs: dict[str, int]
    ) -> None:
        self._settings, self._shape, self._stages, self._detect = settings, shape, stages, detect
        self._jobs = {name: psutil.Process(pid) for name, pid in jobs.items()}
        self._consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "fleet"})
        self._consumer.assign(
            [TopicPartition(f"{PREFIX}.live", part, 0) for part in range(topics()["live"].partitions)]
        )
        self._rows: Counter[str] = Counter()
        self._delays: list[float] = []
        self._sent = self._window_end_ms = self._findings = 0
        self._probes: dict[str, float] = {}
        self._answers: list[float] = []

    def run(self, seconds: float) -> None:
        """Send facts for ``seconds``, wait until both jobs have read all of them, and print the results."""
        measures: list[Measure] = []
        began = time.monotonic()
        for second in self._send_facts(seconds):
            self._read()
            if second == int(second):
                self._read_findings()
            if second >= len(measures) * MEASURE_SECONDS:
                measures.append(self._measure(second))
                print(_line(measures[-1], measures[-2] if len(measures) > 1 else None), flush=True)
                self._probe(len(measures))
        fed = time.monotonic() - began
        try:
            wait_for(self._caught_up, CATCH_UP_SECONDS, "detect to catch up")
        except TimeoutError as late:
            print(late)
        self._report(measures, fed, time.monotonic() - began - fed)

    def _send_facts(self, seconds: float) -> Iterator[float]:
        """Produce the facts in steps of a quarter second, and yield the time of each step in seconds."""
        producer = Producer(
            {
                "bootstrap.servers": self._settings.kafka_bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 50,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 500_000,
            }
        )
        began_ms = time.time_ns() // 1_000_000
        fleet = Fleet(self._stages, self._shape, 1, began_ms, RAMP_MS)
        for quarter in itertools.count(1):
            now_ms = began_ms + quarter * 250
            for sent in fleet.until(now_ms):
                producer.produce(f"{PREFIX}.facts", sent.value, sent.app_id)
                self._sent += 1
            producer.poll(0)
            yield quarter / 4
            if quarter / 4 >= seconds:
                break
            time.sleep(max(0.0, now_ms / 1000 - time.time()))
        producer.flush(60)

    def _read(self) -> None:
        """Read new live rows and their delays."""
        for message in self._consumer.consume(20_000, timeout=0.0):
            row = LiveRow.FromString(message.value())
            self._rows[row.view] += 1
            self._window_end_ms = max(self._window_end_ms, row.window_end_ms)
            if row.view == "stage_live":
                self._delays.append(message.timestamp()[1] - row.window_end_ms)

    def _probe(self, number: int) -> None:
        """If there are live rows already, send the rows of a hung task as a probe."""
        if not self._window_end_ms:
            return
        name, at = f"probe-{number}", self._window_end_ms
        run = Run(name, at - 60_000, name)
        self._probes[name] = time.monotonic()
        self._detect.send([run.started(at), run.stage_started(at), run.task(at, 90_000)])

    def _read_findings(self) -> None:
        """Read new findings."""
        found = self._detect.new_findings(self._findings)
        self._findings += len(found)
        for each in found:
            if each.job_key in self._probes:
                self._answers.append(1000 * (time.monotonic() - self._probes.pop(each.job_key)))

    def _measure(self, second: float) -> Measure:
        cpu, rss = {}, {}
        for name, launcher in self._jobs.items():
            # Children of this process are measured separately.
            family = [launcher, *(launcher.children(recursive=True) if launcher.pid != os.getpid() else [])]
            cpu[name] = sum(sum(each.cpu_times()[:2]) for each in family)
            rss[name] = sum(each.memory_info().rss for each in family) >> 20
        delays, self._delays = self._delays, []
        return Measure(second, cpu, rss, self._unread(), statistics.median(delays) if delays else 0.0,
                    self._answers[-1] if self._answers else 0.0, len(self._probes))  # fmt: skip

    def _unread(self) -> int:
        read = self._detect.metric('sparkfuse_records_read_total{component="detect",topic="live"}')
        return int(sum(self._rows.values()) - read)

    def _passed(self) -> dict[str, int]:
        """Return how many rows of each view reached the Python steps."""
        return {view: int(self._detect.metric(f'{ROWS_TO_PYTHON.name}{{view="{view}"}}')) for view in self._rows}

    def _caught_up(self) -> bool:
        self._read()
        self._read_findings()
        return self._unread() <= 0 and not self._probes

    def _report(self, measures: list[Measure], fed: float, more: float) -> None:
        settled = [measure for measure in measures if measure.second >= min(SETTLED_SECONDS, measures[-1].second / 2)]
        span = settled[-1].second - settled[0].second
        rows = sum(self._rows.values())
        print(f"{self._sent / fed:.0f} facts and {rows / fed:.0f} rows a second; rows {dict(self._rows)}")
        print(f"rows that reach the Python steps of detect: {self._passed()}")
        print(f"{more:.1f} s after the last fact until detect had read all; load {os.getloadavg()[0]:.1f}")
        if len(self._answers) > 1:
            marks = statistics.quantiles(self._answers, n=20, method="inclusive")
            print(
                f"{len(self._answers)} probes: p50 {marks[9]:.0f} ms, p95 {marks[18]:.0f} ms; {self._findings} records"
            )
        delays = sorted(measure.delay_ms for measure in settled)
        print(f"delay of stage rows, medians of {MEASURE_SECONDS} s: {delays[0]:.0f} to {delays[-1]:.0f} ms")
        for name in self._jobs:
            share = (settled[-1].cpu[name] - settled[0].cpu[name]) / span
            third = max(1, len(settled) // 3)
            first, last = (
                statistics.mean(measure.rss[name] for measure in part) for part in (settled[:third], settled[-third:])
            )
            print(f"{name}: {share:.2f} cores; {first:.0f} MB in the first third, {last:.0f} MB in the last")


def _line(measure: Measure, before: Measure | None) -> str:
    shares = ""
    if before is not None:
        span = measure.second - before.second
        shares = ", ".join(f"{name} {(measure.cpu[name] - before.cpu[name]) / span:.2f} cores" for name in measure.cpu)
    return (
        f"{measure.second:5.0f} s: {shares}; {measure.rss} MB; rows delayed by {measure.delay_ms:.0f} ms; "
        f"{measure.unread_rows} rows not read by detect, last probe {measure.answered_ms:.0f} ms, "
        f"{measure.waiting} waiting"
    )


if __name__ == "__main__":
    main()
