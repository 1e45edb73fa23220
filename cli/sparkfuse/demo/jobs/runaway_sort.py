"""A cross join somebody forgot a condition of, sorted: it spills for ever and no task ends, until the fuse blows.

Usage: runaway_sort.py [ROWS_PER_TASK]. Ends with 0 when the fuse stopped it and the session is usable after that.
"""

import sys

from pyspark.sql import SparkSession, functions

import sparkfuse


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000_000
    spark = SparkSession.builder.appName("forgotten_condition").config("spark.memory.fraction", "0.2").getOrCreate()
    breaker = sparkfuse.CircuitBreaker(spark)
    pairs = spark.range(0, rows, 1, 2).select(functions.sha2(functions.col("id").cast("string"), 256).alias("pair"))
    try:
        with breaker.guard("sort all pairs"):
            pairs.sortWithinPartitions("pair").write.format("noop").mode("overwrite").save()
    except sparkfuse.FuseBlown as blown:
        print(f"the fuse has blown: {blown}")
        print(f"the session is usable: {spark.range(10).count()} rows")
        spark.stop()
        return
    sys.exit("the runaway ended by itself: the fuse did not blow")


if __name__ == "__main__":
    main()
