"""A user of a Connect server who runs one query that never ends. Usage: connect_client.py PORT USER."""

import sys

from pyspark.sql import SparkSession

port, user = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}/;user_id={user}").getOrCreate()
try:
    spark.range(0, 10**15, 1, 2).selectExpr("sum(hash(id))").collect()
except Exception as error:
    print("FAILED", str(error).replace("\n", " "), flush=True)
    print("USABLE", spark.range(10).count(), flush=True)
