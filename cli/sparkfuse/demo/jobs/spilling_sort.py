"""Sorts data that does not fit into memory: every task spills to disk, but also completes.

Usage: spilling_sort.py [ROWS].
"""

import sys

from pyspark.sql import SparkSession, functions


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    spark = (
        SparkSession.builder.appName("monthly_ranking")
        .config("spark.memory.fraction", "0.2")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .getOrCreate()
    )
    events = spark.range(0, rows, 1, 8).select(
        functions.sha2(functions.col("id").cast("string"), 256).alias("score"),
        functions.md5(functions.col("id").cast("string")).alias("player"),
    )
    events.repartition(8, "player").sortWithinPartitions("score").write.format("noop").mode("overwrite").save()
    spark.stop()


if __name__ == "__main__":
    main()
