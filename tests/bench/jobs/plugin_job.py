"""One kind of job, several times: the seconds of each run by the clock and of CPU, and how long stopping took.

The CPU is told by kind of thread, for two runs of the same work differ by a tenth, and nearly all of it in the threads
of tasks, which the collector only touches for a moment at the start and end of each.
By configuration: spark.bench.kind (ordinary: tasks of a fifth of a second; tiny: tasks that do nothing),
spark.bench.tasks of a run, and spark.bench.runs. Where spark.sparkfuse.switchFile is set, each of the runs is two that
follow each other, with the collector on and off, which of them first in turns.
"""

import contextlib
import json
import re
import subprocess
import time
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("bench").getOrCreate()
context = spark.sparkContext
conf = context.getConf()
kind, tasks, runs = conf.get("spark.bench.kind"), int(conf.get("spark.bench.tasks")), int(conf.get("spark.bench.runs"))
switch = conf.get("spark.sparkfuse.switchFile")
PID = spark._jvm.java.lang.ProcessHandle.current().pid()
CPU_CLOCK = (~PID << 3) | 2
"""Of the process, in nanoseconds: clock_getcpuclockid(3) gives no other on Linux."""
ROWS_OF_A_TASK = 9_000_000
# The collector looks for the file every half second, and sends what it gathered in another half.
SWITCHED_SECONDS = 1.2
WARM_UP_SECONDS = 45 if switch else 1
THREADS = re.compile(r'^"([^"]*)".* nid=(0x[0-9a-f]+|[0-9]+)', re.MULTILINE)
KINDS = {
    "collector": re.compile("sparkfuse|kafka-producer-"),
    "compiler": re.compile("C[12] CompilerThre|Sweeper thread"),
    "garbage": re.compile("G1 |GC Thread"),
    "tasks": re.compile("Executor task l"),
    "others": re.compile(""),
}
"""Of threads, by their name, the first that fits: those of tasks and others are Spark's and the job's own.

Linux keeps 15 letters of a name, and that is all that is known of a thread that came after the others were asked.
"""


def run() -> None:
    if kind == "ordinary":
        numbers = spark.range(0, tasks * ROWS_OF_A_TASK, 1, tasks)
        numbers.selectExpr("sum(hash(id, id * 31, id % 17) % 1000)").collect()
    else:
        left = tasks
        while left > 0:
            spark.range(0, min(left, 10_000), 1, min(left, 10_000))._jdf.toJavaRDD().count()
            left -= 10_000


def cpu_seconds() -> float:
    """What the JVM, driver and executor in one, has used so far, its compiler and collector too."""
    return time.clock_gettime(CPU_CLOCK)


def kinds_of_threads() -> dict[str, str]:
    """The kind of each thread by its number; asked once, for asking stops the JVM and takes a process of its own."""
    said = subprocess.run(["jcmd", str(PID), "Thread.print"], capture_output=True, text=True, check=True).stdout
    return {str(int(number, 0)): kind_of(name) for name, number in THREADS.findall(said)}


def kind_of(name: str) -> str:
    return next(kind for kind, names in KINDS.items() if names.search(name))


def cpu_by_kind() -> dict[str, float]:
    """The same by kind of thread, to the nanosecond; those that have ended are left out."""
    seconds = dict.fromkeys(KINDS, 0.0)
    for folder in Path(f"/proc/{PID}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ends just now
            kind = kinds.get(folder.name) or kind_of((folder / "comm").read_text())
            seconds[kind] += int((folder / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def timed(word: str) -> None:
    threads, cpu, began = cpu_by_kind(), cpu_seconds(), time.monotonic()
    run()
    told = {"clock": time.monotonic() - began, "cpu": cpu_seconds() - cpu}
    print(word, json.dumps(told | {kind: now - threads[kind] for kind, now in cpu_by_kind().items()}), flush=True)


# What is compiled and loaded at first is no cost of a job that lasts: 100,000 tiny tasks run for minutes.
warm_until = time.monotonic() + WARM_UP_SECONDS
while time.monotonic() < warm_until:
    run()
    # What is compiled for the one state is not for the other.
    if switch and Path(switch).exists():
        Path(switch).unlink()
    elif switch:
        Path(switch).touch()
kinds = kinds_of_threads()
for number in range(runs):
    if not switch:
        timed("RUN")
        continue
    for on in (number % 2 == 0, number % 2 == 1):
        if on:
            Path(switch).unlink(missing_ok=True)
        else:
            Path(switch).touch()
        time.sleep(SWITCHED_SECONDS)
        timed("ON" if on else "OFF")
began = time.monotonic()
spark.stop()
print("STOPPED", time.monotonic() - began, flush=True)
