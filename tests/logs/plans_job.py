"""Runs a query with each problem that a rule on query plans finds, and for each of them one that only looks similar.

The description of a query is the rule that it must match, or "no-" with the rule. ``make_detection.py`` runs this job.
The argument selects the queries: ``operators`` or ``data``.
"""

from __future__ import annotations

import sys
import tempfile

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

FILES, ROWS_PER_FILE, READ_TIMES = 4_000, 400, 12
PARTITIONS = 1_200
SORTED_ROWS = 24_000_000
BROADCAST_ROWS = 16_000_000
SHUFFLED_ROWS, KEYS = 12_000_000, 2_000
REPEATED_ROWS = 16_000_000
COLLECTED_ROWS = 5_000_000
spark = SparkSession.builder.appName("query plans").getOrCreate()


def describe(text: str) -> None:
    """Set the description of the next queries."""
    spark.sparkContext.setJobDescription(text)


def run(rows: DataFrame) -> None:
    """Compute all rows and discard them."""
    rows.write.format("noop").mode("overwrite").save()


def joins() -> None:
    """Compare all pairs of rows, and compare many rows with one row of totals."""
    left = spark.range(0, 90_000, 1, 4).select(F.col("id"), (F.hash("id") % 1_000_000).alias("a"))
    right = spark.range(0, 60_000, 1, 2).select((F.hash("id") % 1_000_000).alias("b"))
    describe("cartesian_join")
    run(left.join(F.broadcast(right), F.abs(F.col("a") - F.col("b")) < 2))
    many = spark.range(0, 900_000_000, 1, 4).select(F.hash("id").alias("a"))
    totals = spark.range(1000).agg(F.max("id").alias("most"))
    describe("no-cartesian_join")
    run(many.join(F.broadcast(totals), F.col("a") % 1_000_000 > F.col("most") + 998_000))


def files() -> None:
    """Write and read many small files; write one file per partition, and read files that cost little time."""
    # Without this, each small file would be a task of its own, and the log would be large.
    spark.conf.set("spark.sql.files.openCostInBytes", "20000")
    with tempfile.TemporaryDirectory() as folder:
        rows = spark.range(0, FILES * ROWS_PER_FILE, 1, 8).withColumn("text", F.sha2(F.col("id").cast("string"), 256))
        describe("small_files_written")
        rows.write.option("maxRecordsPerFile", ROWS_PER_FILE).parquet(f"{folder}/small")
        describe("small_files_read")
        run(spark.read.parquet(*[f"{folder}/small"] * READ_TIMES))
        describe("no-small_files_written")
        keyed = rows.withColumn("day", F.col("id") % PARTITIONS)
        keyed.repartition(8, "day").write.partitionBy("day").parquet(f"{folder}/days")
        describe("no-small_files_read")
        run(spark.read.parquet(f"{folder}/days"))


def broadcasts() -> None:
    """Broadcast a large table, and a small one."""
    facts = spark.range(0, 4_000_000, 1, 4).withColumn("key", F.col("id") % BROADCAST_ROWS)
    for rows, description in ((BROADCAST_ROWS, "broadcast_large"), (2_000, "no-broadcast_large")):
        keys = spark.range(0, rows, 1, 4).select(F.col("id").alias("key"), F.hash("id").alias("name"))
        describe(description)
        run(facts.join(F.broadcast(keys), "key"))


def sorts() -> None:
    """Number all rows in one task, and the rows of eight groups in eight tasks."""
    rows = spark.range(0, SORTED_ROWS, 1, 4).select("id", F.hash("id").alias("a"), (F.col("id") % 8).alias("key"))
    describe("single_task_sort")
    run(rows.withColumn("n", F.row_number().over(Window.orderBy("a"))))
    describe("no-single_task_sort")
    run(rows.withColumn("n", F.row_number().over(Window.partitionBy("key").orderBy("a"))))


def shuffles() -> None:
    """Shuffle many rows for a join with a small table, and for an outer join, which cannot broadcast this table."""

    def key(column: str) -> Column:
        return F.sha2((F.col(column) % KEYS).cast("string"), 256).alias("key")

    rows = spark.range(0, SHUFFLED_ROWS, 1, 4).select("id", key("id"))
    names = spark.range(0, KEYS, 1, 4).select(key("id"), F.hash("id").alias("name"))
    for how, description in (("inner", "broadcast_missed"), ("full", "no-broadcast_missed")):
        describe(description)
        run(rows.join(names, "key", how))


def repeats() -> None:
    """Use an aggregate twice with different columns, and twice with the same columns, which Spark computes once."""
    with tempfile.TemporaryDirectory() as folder:
        describe("write orders")
        orders = spark.range(0, REPEATED_ROWS, 1, 8).select("id", (F.col("id") % 1_000).alias("key"))
        orders.write.parquet(f"{folder}/orders")
        text = F.sha2(F.sha2(F.col("id").cast("string"), 512), 512)
        coded = spark.read.parquet(f"{folder}/orders").select("key", F.xxhash64(text).alias("code"))
        daily = coded.groupBy("key").agg(F.max("code").alias("most"), F.min("code").alias("least"))
        most = daily.select("key", "most")
        describe("repeated_computation")
        run(most.join(daily.select("key", "least"), "key"))
        describe("no-repeated_computation")
        run(most.join(most.withColumnRenamed("most", "again"), "key"))


def collects() -> None:
    """Return many rows to the driver, and aggregate as many rows."""
    rows = spark.range(0, COLLECTED_ROWS, 1, 8).select(F.sha2(F.col("id").cast("string"), 256).alias("text"))
    describe("driver_collect")
    # The rows stay in the driver's JVM, because Python would need several times the memory.
    rows._jdf.collect()
    describe("no-driver_collect")
    rows.agg(F.max("text")).collect()


PARTS = {
    "operators": (joins, files, broadcasts, sorts),
    "data": (shuffles, repeats, collects),
}
for part in PARTS[sys.argv[1]]:
    part()
spark.stop()
