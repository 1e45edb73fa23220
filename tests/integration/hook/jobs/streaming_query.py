"""A streaming query whose batches compute until a file exists.

Usage: set `spark.test.until` to the path of the file and submit streaming_query.py.
"""

from __future__ import annotations

from pathlib import Path
from time import sleep

from pyspark.sql import SparkSession, functions

import sparkfuse

spark = SparkSession.builder.appName("streaming").getOrCreate()
until = spark.conf.get("spark.test.until")
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
print("APPLICATION", spark.sparkContext.applicationId, spark.sparkContext._jsc.sc().startTime(), flush=True)


@functions.udf("long")
def compute(number: int) -> int:
    """Wait until the file exists, then return twice the number."""
    while not Path(until).exists():
        sleep(0.05)
    return 2 * number


rows = spark.readStream.format("rate").option("rowsPerSecond", 5).option("numPartitions", 2).load()
query = rows.select(compute("value")).writeStream.format("noop").start()
query.awaitTermination()
print("ENDED", query.isActive, query.exception(), flush=True)
print("USABLE", spark.range(10).count(), flush=True)
spark.stop()
