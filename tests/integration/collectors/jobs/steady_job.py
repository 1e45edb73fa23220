"""Prints its identity, runs stages of JVM tasks until a file exists, and prints ended tasks and a sum.

spark.test.flag names the file, spark.test.tasks the number of tasks of a stage.
"""

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("steady").getOrCreate()
context = spark.sparkContext
flag = Path(context.getConf().get("spark.test.flag"))
tasks = int(context.getConf().get("spark.test.tasks", "4"))
print("APPLICATION", context.applicationId, context.startTime, context._jvm.ProcessHandle.current().pid(), flush=True)
stages = 0
while True:
    if spark.range(0, 10 * tasks, 1, tasks)._jdf.toJavaRDD().count() != 10 * tasks:
        sys.exit("the count is wrong")
    stages += 1
    print("ENDED", stages * tasks, flush=True)
    if flag.exists():
        break
total = spark.range(0, 1000, 1, 4).selectExpr("sum(id)").collect()[0][0]
print("SUM", total, flush=True)
context._jsc.sc().listenerBus().waitUntilEmpty()
began = time.monotonic()
spark.stop()
print("STOPPED", time.monotonic() - began, flush=True)
