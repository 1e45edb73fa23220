"""Job code with a `CircuitBreaker` around a sort of a cross join; the sort spills, stops reading and never ends."""

import sys

from driver_counters import print_counters
from pyspark.sql import SparkSession, functions

import sparkfuse

spark = SparkSession.builder.appName("runaway").getOrCreate()
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
print("APPLICATION", spark.sparkContext.applicationId, spark.sparkContext._jsc.sc().startTime(), flush=True)
print_counters(spark)
# Each task reads its 1,000 rows at once and joins each of them with all rows of the other side.
left = spark.range(0, 2_000, 1, 2).select(functions.col("id").alias("left"))
right = functions.broadcast(spark.range(0, 500_000).select(functions.col("id").alias("right")))
pair = functions.concat(functions.col("left").cast("string"), functions.lit("-"), functions.col("right").cast("string"))
rows = left.crossJoin(right).select(functions.sha2(pair, 256).alias("k"))
for attempt in ("first", "second"):
    try:
        with fuse.guard(f"{attempt} sort"):
            rows.sortWithinPartitions("k").write.format("noop").mode("overwrite").save()
    except sparkfuse.FuseBlownError as blown:
        print(f"BLOWN_{attempt}", blown, flush=True)
        print(f"CAUSE_{attempt}", type(blown.__cause__).__name__, flush=True)
    print(f"USABLE_{attempt}", spark.range(10).count(), fuse.should_continue(), flush=True)
    fuse.reset()
    print(f"RESET_{attempt}", fuse.should_continue(), flush=True)
try:
    import pyarrow as pa

    print("PYARROW", pa.__version__, flush=True)
except ImportError:
    print("PYARROW none", flush=True)
sys.stdin.close()
spark.stop()
