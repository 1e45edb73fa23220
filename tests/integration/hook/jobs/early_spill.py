"""A healthy job: its tasks spill in their first seconds, and the last task then computes until a file exists.

Usage: set `spark.test.until` to the path of the file and submit early_spill.py.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from driver_counters import print_counters
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions

ROWS_PER_TASK = 300_000
TASKS = 6

spark = SparkSession.builder.appName("early_spill").getOrCreate()
until = spark.conf.get("spark.test.until")
printing = print_counters(spark)
print("APPLICATION", spark.sparkContext.applicationId, flush=True)


def compute(rows: Iterator[object]) -> Iterator[float]:
    """Return one number per row; the last task computes until the file exists."""
    found = [float(number) for number, _ in enumerate(rows)]
    while TaskContext.get().partitionId() == TASKS - 1 and not Path(until).exists():
        found[0] = math.sqrt(found[0] + 1)
    yield sum(found)


keys = spark.range(0, ROWS_PER_TASK * TASKS, 1, TASKS).select(
    functions.sha2(functions.col("id").cast("string"), 256).alias("key")
)
# The filter is not deterministic, so Spark does not move it before the sort.
few = keys.sortWithinPartitions("key").where(functions.rand(7) < 0.001)
print("SUM", sum(few.rdd.mapPartitions(compute).collect()) > 0, flush=True)
printing.set()
spark.stop()
