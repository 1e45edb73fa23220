"""Sums of rows that come from nowhere, one application for each number: ``rows_job.py ROWS…``, with event logs.

Once from a range, of which Spark counts the records, once from an RDD of Python's, of which it counts nothing.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from pyspark.sql import SparkSession

    for number in map(int, sys.argv[1:]):
        spark = SparkSession.builder.appName(f"rows {number}").getOrCreate()
        spark.range(0, number, 1, 2).selectExpr("sum(hash(id))").collect()
        pairs = spark.sparkContext.range(0, number, 1, 2).map(lambda value: (value,))
        spark.createDataFrame(pairs, "id long").selectExpr("sum(hash(id))").collect()
        spark.stop()
