"""Runs applications one after the other; each runs a query with two tasks whose counters stop changing.

Each task writes a file when it begins to wait. The fuse stops the query; a file from the bench ends the application.
Settings: `spark.bench.folder` (for the files), and `spark.bench.applications` (the number of applications).
"""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession, functions


def wait(number: int, folder: Path) -> int:
    """Write a file with the time at which this task first waits; then wait until the bench creates the file ``end``."""
    began = folder / f"began-{number}"
    if not began.exists():
        unfinished = folder / f"unfinished-{number}"
        unfinished.write_text(str(time.time_ns() // 1_000_000))
        unfinished.replace(began)
    while not (folder / "end").exists():
        time.sleep(0.05)
    return number


def run(application: int) -> int:
    """Run one application, and return how many applications are to be run."""
    spark = SparkSession.builder.appName("bench").getOrCreate()
    applications = int(spark.conf.get("spark.bench.applications"))
    folder = Path(spark.conf.get("spark.bench.folder")) / str(application)
    folder.mkdir()
    # A task whose Python worker starts slowly makes no progress either, so the workers start before.
    spark.range(0, 2, 1, 2).select(functions.udf(lambda number: number, "long")("id")).collect()
    print("APPLICATION", application, spark.sparkContext.applicationId, flush=True)
    try:
        spark.range(0, 2, 1, 2).select(functions.udf(lambda number: wait(number, folder), "long")("id")).collect()
    except Exception as error:
        print("STOPPED", type(error).__name__, flush=True)
    while not (folder / "end").exists():  # so that the ends of killed tasks are sent
        time.sleep(0.05)
    spark.stop()
    return applications


number = 0
while number < run(number) - 1:
    number += 1
