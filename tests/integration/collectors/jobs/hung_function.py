"""Python workers that start slowly, then one Python function that hangs while its neighbour works on."""

import pathlib
import sys
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("hung").getOrCreate()
answer = pathlib.Path(spark.conf.get("spark.test.answer"))


def look_up(number):
    if number == 1:
        # A pipe that nobody writes to: as for a service that does not answer, the worker waits in the kernel all along.
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
