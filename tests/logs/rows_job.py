"""Sums generated rows, in one application for each given number of rows: ``rows_job.py ROWS…``.

The rows come from a range and from a Python RDD; Spark counts only the records of the range.
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
