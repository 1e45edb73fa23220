"""The smaller jobs of the detection corpus: ``detection_others.py JOB [ARGUMENT…]``, run by ``make_detection.py``."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

MAX_WAIT_SECONDS = 60


def feed(spark: SparkSession, folder: str, repeat: str) -> None:
    """Run a stage whose time is proportional to its number of rows: it hashes ``repeat`` copies of each text."""
    rows = spark.read.parquet(folder)
    marked = rows.withColumn("bucket", F.substring(F.sha2(F.repeat("note", int(repeat)), 512), 1, 2))
    marked.groupBy("bucket").count().orderBy("bucket").collect()


def wide_sort(spark: SparkSession, rows: str) -> None:
    """Sort rows that do not fit into memory."""
    wide = spark.range(int(rows)).select(
        "id", *(F.sha2(F.concat("id", F.lit(n)), 512).alias(f"c{n}") for n in range(4))
    )
    wide.repartition(4).sortWithinPartitions("c1").write.format("noop").mode("overwrite").save()


def tiny(spark: SparkSession, tasks: str) -> None:
    """Run many tasks of one row each."""
    spark.range(0, int(tasks), 1, int(tasks)).groupBy(F.col("id") % 7).count().collect()


def collect_all(spark: SparkSession, rows: str) -> None:
    """Collect a result that is larger than the driver's limit."""
    spark.range(int(rows)).select(F.sha2(F.col("id").cast("string"), 512)).collect()


def lists(spark: SparkSession, rows: str) -> None:
    """Build a list for each of many keys, as objects on the heap."""
    pairs = spark.range(0, int(rows), 1, 4).withColumn("key", F.col("id") % (int(rows) // 3))
    pairs.groupBy("key").agg(F.collect_list("id").alias("ids")).agg(F.sum(F.size("ids"))).collect()


def cross(spark: SparkSession, rows: str) -> None:
    """Join without a condition."""
    left = spark.range(0, int(rows), 1, 4).withColumn("a", F.hash("id"))
    right = spark.range(0, int(rows), 1, 2).withColumn("b", F.hash("id"))
    left.repartition(4, "a").crossJoin(right).groupBy((F.col("a") + F.col("b")) % 100).count().collect()


def late_broadcast(spark: SparkSession, rows: str) -> None:
    """Broadcast a table whose rows come from a slow function."""

    def ask(row: int) -> int:
        time.sleep(0.01)
        return row

    small = spark.range(0, int(rows), 1, 2).withColumn("answer", F.udf(ask, "long")("id"))
    large = spark.range(0, 1_000_000, 1, 4).withColumnRenamed("id", "key")
    large.join(F.broadcast(small), large["key"] == small["id"]).agg(F.sum("answer")).collect()


def lost_in_map(spark: SparkSession) -> None:
    """Kill an executor while it writes shuffle files."""
    _lose(spark, "map")


def lost_in_reduce(spark: SparkSession) -> None:
    """Kill an executor while others read its shuffle files."""
    _lose(spark, "reduce")


def _lose(spark: SparkSession, side: str) -> None:
    marker = Path(tempfile.mkdtemp()) / "died"

    def die_once() -> None:
        if not marker.exists():
            marker.touch()
            worker = Path(f"/proc/{os.getppid()}/stat").read_text()
            executor = int(worker.rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(MAX_WAIT_SECONDS)

    def map_side(index: int, rows: Iterable[int]) -> Iterable[tuple[int, int]]:
        if side == "map" and index == 7:
            die_once()
        return ((value % 50, value) for value in rows)

    def reduce_side(index: int, rows: Iterable[object]) -> list[int]:
        if side == "reduce" and index == 1:
            die_once()
        return [index]

    pairs = spark.sparkContext.parallelize(range(4000), 8).mapPartitionsWithIndex(map_side)
    pairs.partitionBy(6).mapPartitionsWithIndex(reduce_side).count()


_ALL = (feed, wide_sort, tiny, lists, collect_all, cross, late_broadcast, lost_in_map, lost_in_reduce)
JOBS = {job.__name__: job for job in _ALL}

if __name__ == "__main__":
    session = SparkSession.builder.appName(sys.argv[1].replace("_", " ")).getOrCreate()
    JOBS[sys.argv[1]](session, *sys.argv[2:])
    session.stop()
