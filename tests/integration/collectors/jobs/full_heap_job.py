"""Fills the driver's heap to its last tenth and runs small jobs, until a file is there; frees it, until another is.

The files come by configuration: spark.test.free and spark.test.flag.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("full heap").getOrCreate()
context = spark.sparkContext
jvm, gateway = context._jvm, context._gateway
free, flag = (Path(context.getConf().get(key)) for key in ("spark.test.free", "spark.test.flag"))
runtime = jvm.java.lang.Runtime.getRuntime()
held = jvm.java.util.ArrayList()
PIECE_BYTES = 4_000_000
FULL = 0.94


def job() -> None:
    if spark.range(0, 40, 1, 4)._jdf.toJavaRDD().count() != 40:
        sys.exit("the count is wrong")


job()
print("APPLICATION", context.applicationId, flush=True)
runtime.gc()
while runtime.totalMemory() - runtime.freeMemory() < FULL * runtime.maxMemory():
    held.add(gateway.new_array(jvm.byte, PIECE_BYTES))
runtime.gc()
print("FULL", flush=True)
while not free.exists():
    job()
held.clear()
runtime.gc()
print("FREE", flush=True)
while not flag.exists():
    job()
print("SUM", spark.range(0, 1000, 1, 4).selectExpr("sum(id)").collect()[0][0], flush=True)
spark.stop()
print("STOPPED", flush=True)
