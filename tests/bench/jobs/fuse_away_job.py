"""Runs one workload again and again in one JVM, with and without the fuse; prints the wall and CPU time of each run.

Each run has a SparkContext of its own, because the plugin reads its settings when it starts. The order within a pair
alternates. Settings: spark.bench.pairs, and spark.bench.tasks of about 0.2 s per run.

``outside`` is the CPU time of all threads except task threads and the JIT compiler. The fuse has no code in those, and
their CPU time differs by ten percent between two runs of the same work.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from pyspark.sql import SparkSession

import sparkfuse

ROWS_OF_A_TASK = 9_000_000
SETTLE_SECONDS = 1.0
"""Time for the clients of the plugin to begin, so that a run contains what they do all the time."""
KEYS = os.environ["BENCH_KEYS"]
BROKER = os.environ["BENCH_BROKER"] == "up"
# Linux keeps 15 characters of a thread's name.
LEFT_OUT = ("Executor task l", "C1 CompilerThre", "C2 CompilerThre", "Sweeper thread")
WITH = {"spark.sparkfuse.fuse": "act", "spark.sparkfuse.fuse.publicKeys": KEYS}
WITHOUT = {"spark.sparkfuse.fuse": "off", "spark.sparkfuse.fuse.publicKeys": ""}


def outside_seconds(pid: int) -> float:
    """Return the CPU seconds so far of the JVM's threads that neither run tasks nor compile."""
    total = 0.0
    for folder in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            if (folder / "comm").read_text().rstrip("\n") not in LEFT_OUT:
                total += int((folder / "schedstat").read_text().split()[0]) / 1e9
    return total


def run(settings: dict[str, str]) -> tuple[dict[str, float], str]:
    """Return the wall and CPU seconds of the JVM, and the result, of one run in a context of its own."""
    builder = SparkSession.builder.appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    tasks = int(spark.conf.get("spark.bench.tasks"))
    fuse = sparkfuse.CircuitBreaker(spark)
    while BROKER and settings is WITH and not fuse.state()["watching"]:
        time.sleep(0.05)
    numbers = spark.range(0, tasks * ROWS_OF_A_TASK, 1, tasks)
    spark.range(1_000).selectExpr("sum(hash(id))").collect()
    time.sleep(SETTLE_SECONDS)
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    cpu_clock = (~pid << 3) | 2  # the CPU clock of a process, as clock_getcpuclockid(3) defines it on Linux
    began, cpu, outside = time.monotonic(), time.clock_gettime(cpu_clock), outside_seconds(pid)
    [[total]] = numbers.selectExpr("sum(hash(id, id * 31, id % 17) % 1000)").collect()
    seconds = {
        "wall": time.monotonic() - began,
        "cpu": time.clock_gettime(cpu_clock) - cpu,
        "outside": outside_seconds(pid) - outside,
    }
    assert fuse.should_continue()
    spark.stop()
    return seconds, str(total)


_, expected = run(WITHOUT)
run(WITH)
pairs = int(os.environ["BENCH_PAIRS"])
for number in range(pairs):
    order = (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH)
    found = {id(settings): run(settings) for settings in order}
    assert {total for _, total in found.values()} == {expected}
    print("PAIR", json.dumps({"with": found[id(WITH)][0], "without": found[id(WITHOUT)][0]}), flush=True)
