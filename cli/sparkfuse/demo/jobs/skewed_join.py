"""Joins clicks with customers; most of the clicks belong to one customer.

Usage: skewed_join.py [CLICKS]. Adaptive execution is on, but does not help, because it splits only partitions above 256
MB.
"""

import sys

from pyspark.sql import SparkSession, functions


def main():
    clicks_count = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
    spark = (
        SparkSession.builder.appName("clicks_by_customer")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.shuffle.partitions", "16")
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .getOrCreate()
    )
    number = functions.col("id")
    clicks = spark.range(0, clicks_count, 1, 8).select(
        functions.when(number % 10 < 7, functions.lit(7)).otherwise(number % 5_000).alias("customer"),
        functions.sha2(number.cast("string"), 256).alias("page"),
    )
    customers = spark.range(0, 5_000).select(
        number.alias("customer"), functions.md5(number.cast("string")).alias("name")
    )
    joined = clicks.join(customers, "customer")
    digest = functions.col("page")
    for _ in range(12):  # some computation per click
        digest = functions.sha2(functions.concat(digest, functions.col("name")), 512)
    joined.select(functions.sum(functions.length(digest)).alias("total")).write.format("noop").mode("overwrite").save()
    spark.stop()


if __name__ == "__main__":
    main()
