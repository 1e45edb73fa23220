"""Uses everything that task metrics count: shuffles, spills, files, cache, Python, a retry, and a lost executor."""

import os
import pathlib
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession, functions

spark = SparkSession.builder.appName("whole").getOrCreate()
context = spark.sparkContext
folder = spark.conf.get("spark.test.folder")
killed = pathlib.Path(f"{folder}.killed")

orders = spark.range(0, 40_000, 1, 4).select((functions.col("id") % 97).alias("customer"), functions.col("id"))
customers = spark.range(0, 97).withColumnRenamed("id", "customer")
double = functions.udf(lambda value: value * 2, "long")
joined = orders.repartition(3, "id").join(customers, "customer").withColumn("twice", double("id"))
print("SUM", joined.groupBy("customer").agg(functions.sum("twice")).orderBy("customer").collect()[0][1], flush=True)

orders.sortWithinPartitions("customer").write.parquet(folder)
cached = spark.read.parquet(folder).cache()
cached.count()
cached.where("customer = 5").count()

context.setJobGroup("nightly", "the nightly group")
if hasattr(context, "addJobTag"):
    context.addJobTag("orders")


def fails_once(number):
    if number == 3 and TaskContext.get().attemptNumber() == 0:
        raise ValueError("not yet")
    return number


context.parallelize(range(6), 3).map(fails_once).count()
# The result is larger than the limit for direct results, so the driver fetches it separately.
context.parallelize(range(2), 2).map(lambda _: bytes(2_000_000)).collect()


def parent(pid):
    with pathlib.Path(f"/proc/{pid}/stat").open() as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def kills_its_executor(index, rows):
    if index == 0 and not killed.exists():
        killed.touch()
        os.kill(parent(os.getppid()), 9)
        time.sleep(60)
    return rows


if "local-cluster" in context.master:
    pairs = context.parallelize(range(400), 4).map(lambda number: (number % 8, number))
    print("GROUPS", pairs.groupByKey(4).mapPartitionsWithIndex(kills_its_executor).count(), flush=True)
spark.stop()
print("STOPPED", flush=True)
