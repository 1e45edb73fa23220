"""A user of a Connect server; each block exceeds its limit. Usage: limited_connect.py PORT USER FOLDER LIMIT=N...

For each limit, the script runs a query that never ends or takes minutes.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession, functions

from sparkfuse import CircuitBreaker, LimitExceededError

port, user, folder, *limits = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}/;user_id={user}").getOrCreate()


def compute() -> None:
    """Run a computation that takes practically forever."""
    spark.range(0, 10**15, 1, 2).selectExpr("sum(hash(id))").collect()


def spill() -> None:
    """Run a sort that takes practically forever."""
    keys = spark.range(0, 10**15, 1, 2).select(functions.sha2(functions.col("id").cast("string"), 256).alias("key"))
    keys.sortWithinPartitions("key").write.format("noop").mode("overwrite").save()


def write() -> None:
    """Write 20,000 files; Spark counts the rows of a file when its task has written the file."""
    spark.range(0, 10**8, 1, 20_000).write.mode("overwrite").parquet(str(Path(folder) / user))


QUERIES = {"max_seconds": compute, "max_cost": compute, "max_spill": spill, "max_output_rows": write}
for limit in limits:
    name, _, bound = limit.partition("=")
    try:
        with CircuitBreaker(spark, user, **{name: float(bound) if "." in bound else int(bound)}):
            print("STARTED", name, flush=True)
            QUERIES[name]()
    except LimitExceededError as error:
        print("LIMIT", error.rule, error.doing, error.stopped_by, flush=True)
        print("USABLE", spark.range(10).count(), flush=True)
