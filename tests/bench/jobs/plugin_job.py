"""One kind of job, several times: says the seconds of each run, and how long stopping took.

By configuration: spark.bench.kind (ordinary: tasks of some hundred milliseconds; tiny: tasks that do nothing),
spark.bench.tasks of a run, and spark.bench.runs.
"""

import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("bench").getOrCreate()
context = spark.sparkContext
conf = context.getConf()
kind, tasks, runs = conf.get("spark.bench.kind"), int(conf.get("spark.bench.tasks")), int(conf.get("spark.bench.runs"))
ROWS_OF_A_TASK = 3_000_000


def run() -> None:
    if kind == "ordinary":
        numbers = spark.range(0, tasks * ROWS_OF_A_TASK, 1, tasks)
        numbers.selectExpr("sum(hash(id, id * 31, id % 17) % 1000)").collect()
    else:
        left = tasks
        while left > 0:
            spark.range(0, min(left, 10_000), 1, min(left, 10_000))._jdf.toJavaRDD().count()
            left -= 10_000


run()  # what is compiled and loaded on the way is no cost of the plugin's
for _ in range(runs):
    began = time.monotonic()
    run()
    print("RUN", time.monotonic() - began, flush=True)
began = time.monotonic()
spark.stop()
print("STOPPED", time.monotonic() - began, flush=True)
