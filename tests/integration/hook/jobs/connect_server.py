"""A Connect server with the plugin; it ends when a file exists.

Usage: set `spark.test.until` to the path of the file and submit connect_server.py.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import sparkfuse

spark = SparkSession.builder.appName("server").getOrCreate()
until = spark.conf.get("spark.test.until")
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
print("APPLICATION", spark.sparkContext.applicationId, spark.sparkContext._jsc.sc().startTime(), flush=True)
while not Path(until).exists():
    pass
spark.stop()
