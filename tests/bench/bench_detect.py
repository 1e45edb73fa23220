"""How long the detect job takes from the end of a window to the finding's record, and how many rows it takes a second.

``python -m tests.bench.bench_detect`` starts a broker of its own, needs a quiet machine, and takes about three minutes.
A row is sent at the moment at which its window ends; the finding counts when a consumer has it.
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
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
APPLICATIONS = 100
# Stages that run at once in an application, whose rows of one window come one after the other.
TOGETHER = 20
ANSWER_SECONDS = 600


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=100)
    parser.add_argument("--rows", nargs=2, type=int, default=[20_000, 60_000], metavar=("SHORT", "LONG"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as bootstrap:
        ensure_topics(bootstrap, "bench")
        job = DetectJob(bootstrap, "bench", Path(folder, "home"), [], free_port())
        print(f"load before the start {os.getloadavg()[0]:.1f}", flush=True)
        began = time.monotonic()
        job.start()
        print(f"start to first row {time.monotonic() - began:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        try:
            measure_latency(job, arguments.findings)
            measure_rows(job, arguments.rows, "stage", TOGETHER)
            measure_rows(job, arguments.rows, "stage", 1)
            measure_rows(job, arguments.rows, "task", 1)
        finally:
            job.close()


def measure_latency(job: DetectJob, count: int) -> None:
    """One finding after the other, each of a job of its own."""
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


def measure_rows(job: DetectJob, counts: list[int], what: str, together: int) -> None:
    """Rows of stages or tasks of many applications, a short and a long run: the difference has nothing that is once.

    ``together`` rows of one application and window stand one after the other.
    """
    spent = []
    read = f'sparkfuse_live_rows_total{{view="{what}_live"}}'
    before = job.metric(read)
    for count in counts:
        rows = list(quiet_rows(count, what, together))
        began, cpu = time.monotonic(), cpu_seconds(job)
        job.send(rows)
        before += count
        wait_for(lambda: job.metric(read) >= before, ANSWER_SECONDS, "all rows")  # noqa: B023
        # What is sent now stands behind all of them in every step.
        end = Run(f"end-{what}-{together}-{count}", 1, f"end-{what}-{together}-{count}")
        job.send([end.started(1), end.stage_started(1), end.task(now_ms(), 90_000)])
        wait_for(lambda: job.findings("task_stuck", end.job), ANSWER_SECONDS, "the last row")  # noqa: B023
        spent.append((time.monotonic() - began, cpu_seconds(job) - cpu))
    more = counts[1] - counts[0]
    wall, cpu = spent[1][0] - spent[0][0], spent[1][1] - spent[0][1]
    print(f"a further {what} row, {together} together: {1e6 * cpu / more:.0f} us of CPU, ", end="")
    print(f"{more / wall:.0f} rows/s, ", end="")
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)


def quiet_rows(count: int, what: str, together: int) -> Iterator[LiveRow]:
    """Rows of running stages or tasks that no rule minds, in the order of their windows."""
    runs = [Run(f"{what}-{together}-{count}-{number}", now_ms(), f"rows-{number}") for number in range(APPLICATIONS)]
    for run in runs:
        yield run.started(run.start_ms)
        for stage_id in range(together):
            yield run.stage_started(run.start_ms, stage_id)
    for number in range(count):
        turn, stage_id = divmod(number, together)
        window, application = divmod(turn, APPLICATIONS)
        run = runs[application]
        at = run.start_ms + window * WINDOW_MS
        yield run.stage(at, 1000, stage_id) if what == "stage" else run.task(at, 0, stage_id=stage_id)


def cpu_seconds(job: DetectJob) -> float:
    """CPU of the launcher, its JVM and what they started."""
    launcher = psutil.Process(job.launcher())
    return sum(sum(each.cpu_times()[:2]) for each in [launcher, *launcher.children(recursive=True)])


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker of its own; yields its address."""
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
    """A port on loopback that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
