"""One job in several variants, whose durations `bench_predictions` predicts from each other: ``VARIANT FOLDER``.

Tasks sleep instead of computing, so that more task slots than processor cores make a difference.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

ROWS = 12_000
# Seconds of the tasks of the workload `waves`: many short ones and a few long ones.
WAVES = [0.4 + 2.4 * ((number * 37) % 23 / 23) ** 3 for number in range(44)]


def main(variant: dict[str, object], folder: str) -> None:
    """Run one variant and write its event log to the folder."""
    properties = {
        # Four attempts per task: the default of local mode is one.
        "spark.master": f"local[{variant['cores']},4]",
        "spark.default.parallelism": "8",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.appName("predicted job")
    for name, value in properties.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.parallelize(range(8), 8).map(lambda each: each).count()
    workloads = {"keys": keys, "waves": waves, "query": query, "parallel": parallel}
    workloads[str(variant["workload"])](spark, str(variant["loss"]))
    spark.stop()


def keys(spark: SparkSession, loss: str) -> None:
    """Partition rows by key; each row takes 3 ms. ``loss`` makes a key too frequent, a task slow, or tasks fail."""

    def key_of(row: int) -> tuple[int, int]:
        return (0 if loss == "skew" and row % 3 == 0 else row % 24), row

    def slow(number: int, rows: Iterable[tuple[int, int]]) -> Iterator[int]:
        amount = sum(1 for _ in rows)
        time.sleep(amount * 0.003 + (12 if loss == "stragglers" and number == 6 else 0))
        if loss == "failures" and TaskContext.get().attemptNumber() == 0 and number % 3 == 0:
            raise ValueError("the first try fails on purpose")
        yield amount

    pairs = spark.sparkContext.range(ROWS, numSlices=8).map(key_of)
    pairs.partitionBy(8, lambda key: key).mapPartitionsWithIndex(slow).sum()


def waves(spark: SparkSession, _: str) -> None:
    """Run more tasks than slots, with different durations, and work of the driver in between."""
    context = spark.sparkContext
    for _ in range(2):
        context.parallelize(WAVES, len(WAVES)).map(time.sleep).count()
        time.sleep(2)


def query(spark: SparkSession, _: str) -> None:
    """Run a join with an aggregation, whose stages depend on each other."""

    def slow(row: int) -> int:
        time.sleep(0.002 if row % 2 else 0)
        return row

    udf = F.udf(slow, "bigint")
    one, other = (spark.range(0, ROWS, 1, 8).select(udf("id").alias("key")) for _ in range(2))
    one.join(other, "key").groupBy((F.col("key") % 100).alias("part")).count().selectExpr("max(count)").collect()


def parallel(spark: SparkSession, _: str) -> None:
    """Run two jobs at the same time in two threads, and then a third one."""
    context = spark.sparkContext

    def work(tasks: int, seconds: float) -> None:
        context.parallelize([seconds] * tasks, tasks).map(time.sleep).count()

    threads = [threading.Thread(target=work, args=each) for each in ((16, 1.0), (6, 2.0))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    work(12, 1.0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
