"""A user of a Connect server with a limited block. Usage: limited_connect.py PORT USER SECONDS."""

import sys

from pyspark.sql import SparkSession

from sparkfuse import CircuitBreaker, LimitExceededError

port, user, seconds = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}/;user_id={user}").getOrCreate()
try:
    with CircuitBreaker(spark, user, max_seconds=float(seconds)):
        print("STARTED", flush=True)
        spark.range(0, 10**15, 1, 2).selectExpr("sum(hash(id))").collect()
except LimitExceededError as error:
    print("LIMIT", error.rule, error.doing, flush=True)
    print("USABLE", spark.range(10).count(), flush=True)
