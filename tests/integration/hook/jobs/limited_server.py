"""A Connect server with the plugin and without a broker; it ends when a file exists."""

from __future__ import annotations

from pathlib import Path
from time import sleep

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("server").getOrCreate()
until = Path(spark.conf.get("spark.test.until")) / "end"
print("READY", flush=True)
jobs = 0
while not until.exists():
    running = len(spark.sparkContext.statusTracker().getActiveJobsIds())
    if running != jobs:
        print("JOBS", running, flush=True)
        jobs = running
    sleep(0.1)
spark.stop()
