"""A healthy job: its tasks spill in their first seconds, and the last task then computes for some minutes.

Usage: set `spark.test.minutes` to how long the last task computes and submit healthy_straggler.py.
"""

import math
import time
from collections.abc import Iterator

from pyspark import TaskContext
from pyspark.sql import SparkSession, functions

ROWS_PER_TASK = 300_000
TASKS = 6
# Rows between two looks at the clock.
STEP = 100

spark = SparkSession.builder.appName("healthy_straggler").getOrCreate()
seconds = 60 * float(spark.conf.get("spark.test.minutes"))


def compute(rows: Iterator[object]) -> Iterator[int]:
    """Return the number of rows; the last task spreads its work over the configured time."""
    began, count = time.monotonic(), 0
    is_straggler = TaskContext.get().partitionId() == TASKS - 1
    for count, _ in enumerate(rows, 1):
        due = seconds * count / ROWS_PER_TASK
        while is_straggler and count % STEP == 0 and time.monotonic() - began < due:
            math.sqrt(count)
    yield count


keys = spark.range(0, ROWS_PER_TASK * TASKS, 1, TASKS).select(
    functions.sha2(functions.col("id").cast("string"), 256).alias("key")
)
print("ROWS", sum(keys.sortWithinPartitions("key").rdd.mapPartitions(compute).collect()), flush=True)
spark.stop()
