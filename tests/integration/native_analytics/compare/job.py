"""Runs one job in a variant, so that the difference between two runs is known: ``job.py VARIANT FOLDER``.

The tasks sleep for each row instead of computing, so that a busy machine hardly changes their durations.
``make_logs.py`` runs it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

KEYS = 24


@dataclass(frozen=True)
class Variant:
    """The properties of a variant of the job; the defaults are those of the usual run."""

    rows: int = 12_000
    row_ms: float = 3
    cores: int = 4
    partitions: int = 8
    broadcast: bool = True
    skewed: bool = False
    failing: bool = False
    query: bool = False


VARIANTS = {
    "usual": Variant(),
    "usual_again": Variant(),
    "more_data": Variant(rows=36_000),
    "fewer_cores": Variant(cores=1),
    "other_join": Variant(broadcast=False),
    "skewed_key": Variant(skewed=True),
    "failing_tasks": Variant(failing=True),
    "one_partition": Variant(partitions=1),
    "slower_code": Variant(row_ms=9),
    "broadcast_query": Variant(query=True),
    "merge_query": Variant(query=True, broadcast=False),
}


def main(variant: Variant, folder: str) -> None:
    """Run one variant and write its event log to the folder."""
    properties = {
        # Four attempts per task: the default of local mode is one.
        "spark.master": f"local[{variant.cores},4]",
        "spark.default.parallelism": str(variant.partitions),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.autoBroadcastJoinThreshold": "10MB" if variant.broadcast else "-1",
        "spark.sql.adaptive.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.appName("compared job")
    for name, value in properties.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    warm(spark)
    if variant.query:
        query(spark, variant)
    else:
        by_key(spark, variant)
        joined(spark, variant)
    spark.stop()


def warm(spark: SparkSession) -> None:
    """Start the Python workers before the compared time begins."""
    spark.sparkContext.parallelize(range(4), 4).map(lambda each: each).count()


def by_key(spark: SparkSession, variant: Variant) -> None:
    """Run a job that partitions rows by their key; each row of a partition takes ``row_ms``."""

    def key_of(row: int) -> tuple[int, int]:
        return (0 if variant.skewed and row % 5 else row % KEYS), row

    def slow(rows: Iterable[tuple[int, int]]) -> Iterator[int]:
        amount = sum(1 for _ in rows)
        time.sleep(amount * variant.row_ms / 1000)
        if variant.failing and TaskContext.get().attemptNumber() == 0:
            raise ValueError("the first try fails on purpose")
        yield amount

    context = spark.sparkContext
    pairs = context.range(variant.rows, numSlices=4).map(key_of)
    pairs.partitionBy(context.defaultParallelism, lambda key: key).mapPartitions(slow).sum()


def joined(spark: SparkSession, variant: Variant) -> None:
    """Run a join: one stage of four tasks if the small side is broadcast, else a join that ends in a single task."""

    def slow(rows: Iterable[object]) -> Iterator[int]:
        amount = sum(1 for _ in rows)
        time.sleep(amount * variant.row_ms / 1000)
        yield amount

    large, small = spark.range(0, 12_000, 1, 4), spark.range(0, 24_000, 1, 4)
    large.join(small, "id").rdd.mapPartitions(slow).sum()


def query(spark: SparkSession, variant: Variant) -> None:
    """Run the same work as a query, so that the log contains a plan."""

    def slow(row: int) -> int:
        time.sleep(0 if row % 10 else variant.row_ms / 100)
        return row

    one, other = spark.range(0, 8_000, 1, 4), spark.range(0, 8_000, 1, 4)
    one.join(other, "id").select(F.udf(slow, "bigint")("id").alias("row")).agg(F.sum("row")).collect()


if __name__ == "__main__":
    main(VARIANTS[sys.argv[1]], sys.argv[2])
