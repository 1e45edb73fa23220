"""The jobs whose event logs the tests read: ``jobs.py SCENARIO``, run by ``make_logs.py`` in an environment of Spark.

Each job is as small as possible.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from pyspark import BarrierTaskContext, TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

MAX_WAIT_SECONDS = 60
PADDING = "a long description " * 20_000
"""Text that compresses well and lets a rolling log grow: Spark does not roll files below 10 MiB."""


def queries(spark: SparkSession) -> None:
    """Run a join with an updated plan, a cached table, a skewed key, a failing query and a job group."""
    small = spark.range(20).withColumn("name", F.concat(F.lit("n"), "id"))
    large = spark.range(0, 20_000, 1, 3).withColumn("key", F.when(F.col("id") < 15_000, 7).otherwise(F.col("id") % 20))
    spark.sparkContext.setJobGroup("nightly", "join and count")
    large.cache().count()
    large.join(small, large.key == small.id).groupBy("name").agg(F.count("*"), F.max("key")).collect()
    spark.sparkContext.setJobDescription('écrire «ça» \U0001f600\ttab "quoted" \\ back')
    with tempfile.TemporaryDirectory() as folder:
        large.repartition(3, "key").write.parquet(f"{folder}/out")
        spark.read.parquet(f"{folder}/out").where("key = 7").selectExpr("sum(id)").collect()
    try:
        spark.range(4).selectExpr("raise_error('this query fails on purpose')").collect()
    except Exception as error:  # its class depends on Spark's version
        print("failed as it should:", type(error).__name__)


def failures(spark: SparkSession) -> None:
    """Run tasks that succeed at the second attempt, and a job that fails."""

    def fail_once(index: int, rows: Iterable[object]) -> list[int]:
        if index % 2 and TaskContext.get().attemptNumber() == 0:
            raise ValueError(f"first attempt of {index} fails on purpose")
        return [index]

    def fail_always(_: object) -> list[int]:
        raise ValueError("no attempt of this task succeeds")

    context = spark.sparkContext
    context.parallelize(range(8), 4).mapPartitionsWithIndex(fail_once).count()
    try:
        context.parallelize(range(4), 2).mapPartitions(fail_always).count()
    except Exception as error:
        print("failed as it should:", type(error).__name__)


def lost_executor(spark: SparkSession) -> None:
    """Kill an executor late in a map stage (Resubmitted), and one whose shuffle files are being read (FetchFailed)."""
    folder = Path(tempfile.mkdtemp())

    def die_once(name: str) -> None:
        marker = folder / name
        if not marker.exists():
            marker.touch()
            worker = Path(f"/proc/{os.getppid()}/stat").read_text()
            executor = int(worker.rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(MAX_WAIT_SECONDS)

    def map_side(index: int, rows: Iterable[int]) -> Iterable[tuple[int, int]]:
        if index == 7:
            die_once("map")
        return ((value % 50, value) for value in rows)

    def reduce_side(index: int, rows: Iterable[object]) -> list[int]:
        if index == 1:
            die_once("reduce")
        return [sum(1 for _ in rows)]

    pairs = spark.sparkContext.parallelize(range(4_000), 8).mapPartitionsWithIndex(map_side)
    print(pairs.groupByKey(4).mapPartitionsWithIndex(reduce_side).collect())


def speculation(spark: SparkSession) -> None:
    """Let one task attempt wait until the scheduler starts a speculative attempt and kills the waiting one."""

    def wait_at_first(index: int, rows: Iterable[object]) -> list[int]:
        if index == 5 and TaskContext.get().attemptNumber() == 0:
            time.sleep(MAX_WAIT_SECONDS)
        time.sleep(0.3)
        return [index]

    print(spark.sparkContext.parallelize(range(8), 8).mapPartitionsWithIndex(wait_at_first).collect())


def spill(spark: SparkSession) -> None:
    """Sort rows with a limit of rows in memory, so that the sort spills."""
    rows = spark.range(0, 30_000, 1, 2).select(F.sha2(F.col("id").cast("string"), 256).alias("hash"), "id")
    rows.repartition(2, "hash").sortWithinPartitions("hash").write.format("noop").mode("overwrite").save()


def streaming(spark: SparkSession) -> None:
    """Run three batches of a stream with state and a watermark."""
    counted = (
        spark.readStream.format("rate").option("rowsPerSecond", 50).load()
        .withWatermark("timestamp", "10 seconds")
        .groupBy((F.col("value") % 3).alias("key"), F.window("timestamp", "5 seconds")).count()
    )  # fmt: skip
    query = counted.writeStream.format("memory").queryName("counted").outputMode("update").start()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while len(query.recentProgress) < 3 and time.monotonic() < deadline:
        query.awaitTermination(0.1)
    query.stop()


def killed(spark: SparkSession) -> None:
    """Print the process id of the JVM and run tasks until it is killed."""
    context = spark.sparkContext
    context.parallelize(range(40), 20).map(lambda value: value * 2).count()
    print("JVM", os.getppid(), flush=True)
    context.parallelize(range(800), 400).map(lambda value: time.sleep(0.02)).count()


def rolling(spark: SparkSession) -> None:
    """Run many jobs with very long descriptions, so that the log rolls."""
    context = spark.sparkContext
    for number in range(28):
        context.setJobDescription(f"{number} {PADDING}")
        context.parallelize(range(10), 2).map(lambda value: (value % 3, value)).reduceByKey(max, 2).count()


def barrier(spark: SparkSession) -> None:
    """Run a barrier stage with an empty description, and an empty query."""

    def together(rows: Iterable[object]) -> list[int]:
        BarrierTaskContext.get().barrier()
        return [1]

    spark.sparkContext.setJobDescription("")
    spark.sparkContext.parallelize(range(2), 2).barrier().mapPartitions(together).collect()
    spark.range(0).count()


def wide(spark: SparkSession) -> None:
    """Run thousands of tasks with SQL metrics; the big log of the benches is made from their log."""
    for tasks, reducers in ((150, 8), (1_500, 200), (1_000, 200)):
        spark.conf.set("spark.sql.shuffle.partitions", reducers)
        rows = spark.range(0, tasks * 10, 1, tasks)
        rows.groupBy((F.col("id") % 50).alias("key")).agg(F.sum("id")).write.format("noop").mode("overwrite").save()
        hashed = spark.range(0, 100_000, 1, 4).select(F.sha2(F.col("id").cast("string"), 256).alias("hash"), "id")
        sorted_rows = hashed.repartition(reducers, "hash").sortWithinPartitions("hash")
        sorted_rows.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Run one scenario; spark-submit sets the configuration."""
    scenario = {each.__name__: each for each in SCENARIOS}[sys.argv[1]]
    spark = SparkSession.builder.appName(f"{scenario.__name__} log").getOrCreate()
    scenario(spark)
    spark.stop()


SCENARIOS = (queries, failures, lost_executor, speculation, spill, streaming, killed, rolling, barrier, wide)

if __name__ == "__main__":
    main()
