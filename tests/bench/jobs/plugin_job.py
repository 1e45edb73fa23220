"""One kind of job, several times: says the seconds of each run, and how long stopping took.

By configuration: spark.bench.kind (ordinary: tasks of some hundred milliseconds; tiny: tasks that do nothing),
spark.bench.tasks of a run, and spark.bench.runs. Where spark.sparkfuse.switchFile is set, each of the runs is two that
follow each other, with the collector on and off, which of them first in turns.
"""

import time
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("bench").getOrCreate()
context = spark.sparkContext
conf = context.getConf()
kind, tasks, runs = conf.get("spark.bench.kind"), int(conf.get("spark.bench.tasks")), int(conf.get("spark.bench.runs"))
switch = conf.get("spark.sparkfuse.switchFile")
ROWS_OF_A_TASK = 3_000_000
# The collector looks for the file every two seconds.
SWITCHED_SECONDS = 3


def run() -> None:
    if kind == "ordinary":
        numbers = spark.range(0, tasks * ROWS_OF_A_TASK, 1, tasks)
        numbers.selectExpr("sum(hash(id, id * 31, id % 17) % 1000)").collect()
    else:
        left = tasks
        while left > 0:
            spark.range(0, min(left, 10_000), 1, min(left, 10_000))._jdf.toJavaRDD().count()
            left -= 10_000


def timed(word: str) -> None:
    began = time.monotonic()
    run()
    print(word, time.monotonic() - began, flush=True)


run()  # what is compiled and loaded on the way is no cost of the plugin's
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
