"""A job of two tasks that compute until a file exists.

Usage: set `spark.test.until` to the path of the file and submit waiting_tasks.py.
With `spark.test.safePoint=true` the tasks run in a safe point.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from pyspark.sql import SparkSession

import sparkfuse

spark = SparkSession.builder.appName("waiting").getOrCreate()
until = spark.conf.get("spark.test.until")
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
context = spark.sparkContext
print("APPLICATION", context.applicationId, context._jsc.sc().startTime(), flush=True)


def compute(number: int) -> int:
    """Compute until the file exists, then return twice the number."""
    while not Path(until).exists():
        pass
    return 2 * number


try:
    with fuse.safe_point() if spark.conf.get("spark.test.safePoint", "") else nullcontext():
        print("RESULT", context.parallelize([1, 2], 2).map(compute).collect(), flush=True)
except Exception as error:
    print("ERROR", type(error).__name__, str(error).replace("\n", " "), flush=True)
print("STOPPED", spark.sparkContext._jsc is None or spark.sparkContext._jsc.sc().isStopped(), flush=True)
print("STATE", fuse.state()["state"], [event["outcome"] for event in fuse.state()["events"]], flush=True)
spark.stop()
