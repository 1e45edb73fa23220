"""Runs one kind of job several times, and prints the wall time and CPU time of each run and the time to stop.

CPU time is measured by kind of thread, because two runs of the same work differ by ten percent. Nearly all of this
difference is in task threads, where the collector runs only briefly at the start and end of a task.
Settings: spark.bench.kind (ordinary: tasks of 200 ms; tiny: tasks without work), spark.bench.tasks per run, and
spark.bench.runs. If spark.sparkfuse.switchFile is set, each run is a pair with the collector on and off, in
alternating order.
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
"""CPU clock of the process in nanoseconds, as clock_getcpuclockid(3) defines it on Linux."""
ROWS_OF_A_TASK = 9_000_000
# The collector checks the file every 500 ms and sends its facts within another 500 ms.
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
"""Patterns of thread names; the first match counts. Tasks and others belong to Spark and the job.

Linux keeps 15 characters of a name, and later threads are known only by these.
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
    """Return the CPU seconds of the JVM so far, including JIT compiler and garbage collection."""
    return time.clock_gettime(CPU_CLOCK)


def kinds_of_threads() -> dict[str, str]:
    """Return the kind of each thread by the thread's number; called once, because jcmd pauses the JVM."""
    output = subprocess.run(["jcmd", str(PID), "Thread.print"], capture_output=True, text=True, check=True).stdout
    return {str(int(number, 0)): kind_of(name) for name, number in THREADS.findall(output)}


def kind_of(name: str) -> str:
    return next(kind for kind, names in KINDS.items() if names.search(name))


def cpu_by_kind() -> dict[str, float]:
    """Return the CPU seconds by kind of thread, without threads that have ended."""
    seconds = dict.fromkeys(KINDS, 0.0)
    for folder in Path(f"/proc/{PID}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            kind = kinds.get(folder.name) or kind_of((folder / "comm").read_text())
            seconds[kind] += int((folder / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def timed(word: str) -> None:
    threads, cpu, began = cpu_by_kind(), cpu_seconds(), time.monotonic()
    run()
    values = {"clock": time.monotonic() - began, "cpu": cpu_seconds() - cpu}
    print(word, json.dumps(values | {kind: now - threads[kind] for kind, now in cpu_by_kind().items()}), flush=True)


# Compiling and loading classes is not a cost of a long job: 100,000 tiny tasks run for minutes.
warm_until = time.monotonic() + WARM_UP_SECONDS
while time.monotonic() < warm_until:
    run()
    # Both states need their own compiled code.
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
