"""Measures the shipper: memory with thousands of open logs, CPU time per fact, and the time of a scan.

``python -m tests.bench.bench_ship [--logs 10000] [--codec plain|zstd] [--tasks 500000]`` starts its own broker.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from tests.integration.collectors.shipping import LOGS, Template, create_all_topics
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
SECONDS = 900
MAX_RSS_MB = 200


class Growing:
    """Logs that grow by a few lines in each round; the first round additionally writes the header."""

    def __init__(self, folder: Path, count: int, rounds: int, codec: str) -> None:
        self._folder, self._count, self._rounds, self._codec = folder, count, rounds, codec
        self._template = Template(LOGS / "runs" / "healthy-1.zstd")
        self.bytes = 0

    def grow(self, turn: int) -> None:
        """Append the lines of one round to each log."""
        for number in range(self._count):
            lines = self._template.lines(f"app-{number}", 1_795_000_000_000 + number)[:-1]
            share = len(lines) // self._rounds
            until = len(lines) if turn == self._rounds - 1 else share * (turn + 1)
            content = self._packed(b"".join(lines[share * turn : until]))
            with (self._folder / f"app-{number}.inprogress").open("ab") as log:
                log.write(content)
            self.bytes += len(content)

    def _packed(self, content: bytes) -> bytes:
        """Compress the lines of one round into one frame, like a writer that flushes after each round."""
        if self._codec == "plain":
            return content
        import zstandard

        return zstandard.ZstdCompressor(level=1).compress(content)

    @property
    def facts(self) -> int:
        """Return the number of facts in all logs, without health facts."""
        made = ("TaskStart", "TaskEnd", "JobStart", "JobEnd", "StageSubmitted", "StageCompleted", "ExecutorAdded",
                "BlockManagerAdded", "ApplicationStart", "ResourceProfileAdded")  # fmt: skip
        marks = tuple(f'{{"Event":"SparkListener{name}"'.encode() for name in made)
        lines = self._template.lines("app", 1)[:-1]
        return self._count * sum(line.startswith(marks) for line in lines)


class OneBig:
    """One complete log with many task starts and ends, to measure the CPU time per fact about a task."""

    def __init__(self, folder: Path, tasks: int) -> None:
        lines = Template(LOGS / "runs" / "healthy-1.zstd").lines("app-big", 1_795_000_000_000)
        head = [line for line in lines if b'"SparkListenerTask' not in line[:40] and b"ApplicationEnd" not in line[:60]]
        task_lines = [line for line in lines if b'"SparkListenerTask' in line[:40]]
        rounds = tasks // (len(task_lines) // 2)
        self.facts = rounds * len(task_lines)
        with (folder / "app-big.inprogress").open("wb") as log:
            log.writelines(head)
            for _ in range(rounds):
                log.writelines(task_lines)
        self.bytes = (folder / "app-big.inprogress").stat().st_size

    def grow(self, turn: int) -> None:
        """Do nothing: the log is complete."""


def status(process: int, name: str) -> int:
    """Return a value of /proc/<pid>/status in kB."""
    text = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def metric(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as reply:
        lines = reply.read().decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name} ")), 0.0)


def measure(home: Path, bootstrap: str, options: argparse.Namespace) -> dict[str, object]:
    folder = home / "logs"
    folder.mkdir()
    growing = OneBig(folder, options.tasks) if options.tasks else _many(folder, options)
    growing.grow(0)
    port = Ports.free().loader_metrics
    environment = {
        **os.environ,
        "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": "bench",
        "SPARKFUSE_METRICS_PORT": str(port),
    }
    command = [sys.executable, "-m", "sparkfuse.main", "ship", str(folder), "--home", str(home)]
    began = time.monotonic()
    with (home / "ship.log").open("wb") as log:
        shipper = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: "following" in (home / "ship.log").read_text(), 60, "the shipper")
        for turn in range(1, options.rounds):
            growing.grow(turn)
        wait_for(lambda: _facts(port) >= growing.facts, SECONDS, "all facts")
        return {
            "logs": 1 if options.tasks else options.logs,
            "codec": options.codec,
            "log_mb": round(growing.bytes / 1e6, 1),
            "facts": int(_facts(port)),
            "seconds": round(time.monotonic() - began, 1),
            "cpu_seconds": round(cpu_seconds(shipper.pid), 1),
            "facts_per_cpu_second": round(_facts(port) / cpu_seconds(shipper.pid)),
            "peak_rss_mb": round(status(shipper.pid, "VmHWM") / 1024, 1),
            "rss_mb": round(status(shipper.pid, "VmRSS") / 1024, 1),
            "scan_seconds": round(_scan_seconds(port), 3),
        }
    finally:
        shipper.send_signal(signal.SIGTERM)
        shipper.wait(60)


def _many(folder: Path, options: argparse.Namespace) -> Growing:
    return Growing(folder, options.logs, options.rounds, options.codec)


def _facts(port: int) -> float:
    try:
        return metric(port, "sparkfuse_ship_facts_total")
    except OSError:
        return 0.0


def _scan_seconds(port: int) -> float:
    name = "sparkfuse_ship_scan_seconds"
    return metric(port, f"{name}_sum") / max(1.0, metric(port, f"{name}_count"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=0, help="use one log with this number of tasks instead")
    parser.add_argument("--codec", choices=["plain", "zstd"], default="plain")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sparkfuse-bench-") as name:
        home = Path(name)
        layout = Layout.from_environment(home / "kafka", Ports.free(), environment={})
        layout.home.mkdir()
        service = Broker(layout, ROOT / "build" / "kafka-libs").service()
        broker = Process(service, layout.logs / "kafka.log")
        try:
            wait_for(service.ready, service.ready_seconds, "the broker")
            create_all_topics(layout.kafka_bootstrap, "bench")
            figures = measure(home, layout.kafka_bootstrap, options)
        finally:
            broker.stop()
    print(json.dumps(figures, indent=2))
    return 0 if float(str(figures["peak_rss_mb"])) <= MAX_RSS_MB else 1


if __name__ == "__main__":
    sys.exit(main())
