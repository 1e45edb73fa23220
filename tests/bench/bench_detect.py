"""Measures the delay from the end of a window to the record of a finding, and the detect job's rows per second.

``python -m tests.bench.bench_detect`` starts its own broker, needs a quiet machine, and takes about three minutes.
A row is sent when its window ends; the delay lasts until a consumer receives the finding.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.metric_names import LIVE_ROWS, ROWS_TO_PYTHON
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.kafka import settings_of
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
APPLICATIONS = 100
# Number of stages that run at once in an application; their rows of one window are adjacent.
ADJACENT_ROWS = 20
ANSWER_SECONDS = 600


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=100)
    parser.add_argument("--rows", nargs=2, type=int, default=[20_000, 60_000], metavar=("SHORT", "LONG"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        ensure_topics(settings_of(bootstrap, "bench"))
        job = DetectJob(bootstrap, "bench", Path(folder, "home"), [], free_port())
        print(f"load before start {os.getloadavg()[0]:.1f}", flush=True)
        began = time.monotonic()
        job.start()
        print(f"start to first row {time.monotonic() - began:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        try:
            measure_latency(job, arguments.findings)
            measure_rows(job, arguments.rows, "stage", ADJACENT_ROWS)
            measure_rows(job, arguments.rows, "stage", 1)
            measure_rows(job, arguments.rows, "task", 1)
        finally:
            job.close()


def measure_latency(job: DetectJob, count: int) -> None:
    """Measure one finding after the other; each finding belongs to a different job."""
    delays = []
    for number in range(count):
        name = f"latency-{number}"
        at = now_ms()
        run = Run(name, at - 60_000, name)
        job.send([run.started(at), run.stage_started(at), run.task(at, 90_000)])
        wait_for(lambda name=name: job.findings("task_stuck", name), ANSWER_SECONDS, name)
        delays.append(now_ms() - at)
    delays.sort()
    p50, p95 = statistics.median(delays), delays[int(0.95 * (len(delays) - 1))]
    print(f"window end to finding: p50 {p50:.0f} ms, p95 {p95} ms, max {delays[-1]} ms ({count} findings, ", end="")
    print(f"load {os.getloadavg()[0]:.1f})", flush=True)


def measure_rows(job: DetectJob, counts: list[int], what: str, adjacent: int) -> None:
    """Measure how many stage or task rows the job reads per second, from the difference between a long and a short run.

    ``adjacent`` is the number of rows of one application and window that follow each other. Another short run before
    them warms up the job.
    """
    spent = []
    read, passed = (f'{name}{{view="{what}_live"}}' for name in (LIVE_ROWS.name, ROWS_TO_PYTHON.name))
    before = first = job.metric(read)
    passed_before = job.metric(passed)
    for turn, count in enumerate([counts[0], *counts]):
        if turn == 1:
            passed_before, first = job.metric(passed), before
        rows = list(quiet_rows(count, what, adjacent))
        began, cpu = time.monotonic(), cpu_seconds(job)
        job.send(rows)
        before += count
        wait_for(lambda: job.metric(read) >= before, ANSWER_SECONDS, "all rows")  # noqa: B023
        # This application is processed after all rows in every step.
        end = Run(f"end-{what}-{adjacent}-{turn}", 1, f"end-{what}-{adjacent}-{turn}")
        job.send([end.started(1), end.stage_started(1), end.task(now_ms(), 90_000)])
        wait_for(lambda: job.findings("task_stuck", end.job), ANSWER_SECONDS, "the last row")  # noqa: B023
        spent.append((time.monotonic() - began, cpu_seconds(job) - cpu))
    more = counts[1] - counts[0]
    wall, cpu = spent[2][0] - spent[1][0], spent[2][1] - spent[1][1]
    print(f"each {what} row, {adjacent} adjacent: {1e6 * cpu / more:.0f} us of CPU, ", end="")
    share = (job.metric(passed) - passed_before) / (before - first)
    print(f"{more / wall:.0f} rows/s, {100 * share:.1f} % of them reach Python, ", end="")
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)


def quiet_rows(count: int, what: str, adjacent: int) -> Iterator[LiveRow]:
    """Return rows of running stages or tasks that match no rule, in the order of their windows."""
    runs = [Run(f"{what}-{adjacent}-{count}-{number}", now_ms(), f"rows-{number}") for number in range(APPLICATIONS)]
    for run in runs:
        yield run.started(run.start_ms)
        for stage_id in range(adjacent):
            yield run.stage_started(run.start_ms, stage_id)
    for number in range(count):
        turn, stage_id = divmod(number, adjacent)
        window, application = divmod(turn, APPLICATIONS)
        run = runs[application]
        at = run.start_ms + window * WINDOW_MS
        yield run.stage(at, 1000, stage_id) if what == "stage" else run.task(at, 0, stage_id=stage_id)


def cpu_seconds(job: DetectJob) -> float:
    """Return the CPU time of the launcher, its JVM and their children, in seconds."""
    launcher = psutil.Process(job.launcher())
    return sum(sum(each.cpu_times()[:2]) for each in [launcher, *launcher.children(recursive=True)])


def now_ms() -> int:
    """Return the current time in ms since the epoch."""
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[str]:
    """Start a broker and yield its address."""
    layout = Layout.from_environment(folder / "kafka", Ports.free(), environment={})
    service = Broker(layout, ROOT / "build" / "kafka-libs").service()
    layout.logs.mkdir(parents=True, exist_ok=True)
    process = Process(service, layout.logs / "kafka.log")
    try:
        wait_for(service.ready, 120, "the broker")
        yield layout.kafka_bootstrap
    finally:
        process.stop()


def free_port() -> int:
    """Return a free port on loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
