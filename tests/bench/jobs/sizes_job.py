"""Runs many short tasks or a few long ones, so that the bench can count their facts.

Arguments: `short QUERIES`, or `long SECONDS`.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import SparkSession, functions

TASKS = 50
ROWS_PER_SECOND = 100


def after_a_while(number: int) -> int:
    """Return the number after 1 / ROWS_PER_SECOND seconds of work, like a slow function of a user."""
    until = time.monotonic() + 1 / ROWS_PER_SECOND
    while time.monotonic() < until:
        pass
    return number


spark = SparkSession.builder.appName("bench").config("spark.sql.shuffle.partitions", TASKS).getOrCreate()
spark.conf.set("spark.sql.adaptive.enabled", "false")
kind, amount = sys.argv[1], int(sys.argv[2])
if kind == "short":
    for _ in range(amount):
        spark.range(0, 100_000, 1, TASKS).groupBy((functions.col("id") % 100).alias("key")).count().collect()
else:
    slow = functions.udf(after_a_while, "long")
    tasks = spark.sparkContext.defaultParallelism
    spark.range(0, tasks * amount * ROWS_PER_SECOND, 1, tasks).select(functions.sum(slow("id"))).collect()
print("APPLICATION", spark.sparkContext.applicationId, flush=True)
spark.stop()
