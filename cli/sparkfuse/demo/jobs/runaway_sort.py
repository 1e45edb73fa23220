"""Sorts the result of a join without a condition; the sort spills but reads nothing until the fuse stops its stage.

Usage: runaway_sort.py [CUSTOMERS]. The exit code is 0 if the fuse stopped the stage and the session is still usable.
"""

import sys

from pyspark.sql import SparkSession, functions

import sparkfuse


def main():
    customers = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    spark = SparkSession.builder.appName("forgotten_condition").config("spark.memory.fraction", "0.2").getOrCreate()
    breaker = sparkfuse.CircuitBreaker(spark)
    orders = spark.range(0, 2_000, 1, 2).select(functions.col("id").cast("string").alias("order"))
    customer = functions.col("id").cast("string").alias("customer")
    pairs = orders.crossJoin(functions.broadcast(spark.range(0, customers).select(customer))).select(
        functions.sha2(functions.concat_ws("-", "order", "customer"), 256).alias("pair")
    )
    try:
        with breaker.guard("sort all pairs"):
            pairs.sortWithinPartitions("pair").write.format("noop").mode("overwrite").save()
    except sparkfuse.FuseBlownError as blown:
        print(f"stopped by the fuse: {blown}")
        print(f"the session is usable: {spark.range(10).count()} rows")
        spark.stop()
        return
    sys.exit("the sort ended by itself; the fuse did not stop it")


if __name__ == "__main__":
    main()
