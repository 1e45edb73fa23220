"""One kind of job, several times: the seconds of each run by the clock and of CPU, and how long stopping took.

Of the CPU also what the collector's own threads took; they all have its name.
By configuration: spark.bench.kind (ordinary: tasks of some hundred milliseconds; tiny: tasks that do nothing),
spark.bench.tasks of a run, and spark.bench.runs. Where spark.sparkfuse.switchFile is set, each of the runs is two that
follow each other, with the collector on and off, which of them first in turns.
"""

import os
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
STAT = Path(f"/proc/{PID}/stat")
ROWS_OF_A_TASK = 3_000_000
# The collector looks for the file every two seconds.
SWITCHED_SECONDS = 3
WARM_UP_SECONDS = 45 if switch else 1


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
    user_ticks, system_ticks = STAT.read_text().rpartition(")")[2].split()[11:13]
    return (int(user_ticks) + int(system_ticks)) / os.sysconf("SC_CLK_TCK")


def own_cpu_seconds() -> float:
    """What the collector's threads have used so far: Spark's queue for its listener, its own, and Kafka's client's."""
    threads = subprocess.run(["jcmd", str(PID), "Thread.print"], capture_output=True, text=True, check=True).stdout
    return sum(float(ms) for ms in re.findall(r'^"[^"]*sparkfuse[^"]*".* cpu=([0-9.]+)ms', threads, re.MULTILINE)) / 1e3


def timed(word: str) -> None:
    began, cpu, own = time.monotonic(), cpu_seconds(), own_cpu_seconds()
    run()
    print(word, time.monotonic() - began, cpu_seconds() - cpu, own_cpu_seconds() - own, flush=True)


# What is compiled and loaded at first is no cost of a job that lasts: 100,000 tiny tasks run for minutes.
warm_until = time.monotonic() + WARM_UP_SECONDS
while time.monotonic() < warm_until:
    run()
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
