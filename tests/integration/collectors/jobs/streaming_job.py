"""Runs a streaming query with watermark and state until it is stopped, and a streaming query that fails."""

import json
import time

from pyspark.sql import SparkSession, functions

spark = SparkSession.builder.appName("streaming").getOrCreate()
rates = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
counted = rates.withWatermark("timestamp", "1 second").groupBy(functions.window("timestamp", "1 second")).count()
query = counted.writeStream.format("memory").queryName("counts").outputMode("update").start()
while len([progress for progress in query.recentProgress if progress["numInputRows"] > 0]) < 3:
    time.sleep(0.2)
query.stop()
print("COUNTS", json.dumps({"id": str(query.id), "run": str(query.runId)}), flush=True)

failing = functions.udf(lambda value: 1 // 0, "long")
broken = rates.select(failing("value")).writeStream.format("noop").queryName("broken").start()
try:
    broken.awaitTermination()
except Exception:
    print("BROKEN", json.dumps({"id": str(broken.id), "run": str(broken.runId)}), flush=True)
spark.stop()
print("STOPPED", flush=True)
