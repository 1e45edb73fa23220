"""A nightly job: enriches orders with a tax service and adds the taxes up per region.

Usage: nightly_orders.py [ROWS]. The environment variable TAX_SERVICE_MS is how long the service takes for a batch of
orders: the same plan over the same rows, so that only the service makes a run slow.
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
    """Ask the service once for every few orders, as a client of a remote service does."""
    service_seconds = float(os.environ.get("TAX_SERVICE_MS", "20")) / 1000
    for number, order in enumerate(orders):
        if number % ORDERS_PER_CALL == 0:
            time.sleep(service_seconds)
        yield order.region, order.amount * 0.2


if __name__ == "__main__":
    main()
