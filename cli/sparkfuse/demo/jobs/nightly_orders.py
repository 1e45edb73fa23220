"""A nightly job that calls a tax service for each batch of orders and sums the taxes per region.

Usage: nightly_orders.py [ROWS]. The environment variable TAX_SERVICE_MS sets the time that the tax service takes for
one batch of orders. Each run has the same plan and the same rows, so only a slow service makes a run slow.
"""

import os
import sys
import time

from pyspark.sql import SparkSession, functions

ORDERS_PER_CALL = 5_000


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    spark = SparkSession.builder.appName("nightly_orders").getOrCreate()
    orders = spark.range(0, rows, 1, 4).select(
        (functions.col("id") % 50).alias("region"), (functions.col("id") % 997).cast("double").alias("amount")
    )
    taxed = orders.rdd.mapPartitions(with_tax).toDF("region long, tax double")
    taxed.groupBy("region").agg(functions.sum("tax").alias("tax")).write.format("noop").mode("overwrite").save()
    spark.stop()


def with_tax(orders):
    """Call the tax service once per batch of orders."""
    service_seconds = float(os.environ.get("TAX_SERVICE_MS", "20")) / 1000
    for number, order in enumerate(orders):
        if number % ORDERS_PER_CALL == 0:
            time.sleep(service_seconds)
        yield order.region, order.amount * 0.2


if __name__ == "__main__":
    main()
