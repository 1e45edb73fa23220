"""Starts Python workers slowly, then runs a Python function that hangs while another task is busy."""

import pathlib
import sys
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("hung").getOrCreate()
answer = pathlib.Path(spark.conf.get("spark.test.answer"))


def look_up(number):
    if number == 1:
        # Nothing writes to this pipe, so the worker waits in the kernel, as it does for a service that does not answer.
        answer.read_bytes()
    if number == 2:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            pass
    return number


print("RUNS", flush=True)
print("SUM", spark.sparkContext.parallelize([1, 2], 2).map(look_up).sum(), flush=True)
spark.stop()
sys.stdout.flush()
