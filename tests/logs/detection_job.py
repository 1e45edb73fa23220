"""The nightly job of the corpus: ``detection_job.py FOLDER DAY [KNOB=NUMBER…]``, run by ``make_detection.py``.

The job reads, filters and hashes the orders of a day, joins customers, scores in Python, joins products, sums,
sorts and writes the result, and sends it to a service. Code and plan do not depend on the knobs.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

FOLDER, DAY = Path(sys.argv[1]), sys.argv[2]
USUAL = {
    # How often a note is repeated before it is hashed; this sets the CPU time of the JVM in the stage that reads.
    "repeat": 16,
    # CPU time of the Python function for each order after the first join, in microseconds. The thread's clock measures
    # it, because the same hashes take longer on some machines.
    "compute": 2.5,
    # Seconds that the service takes for 5,000 rows in the last stage.
    "service": 0.1,
    # Number of attempts of tasks 3 and 5 that fail in the Python function; 9 means all.
    "failures": 0,
    # Seconds that task 5 sleeps in the Python function.
    "straggle": 0,
    # Whether a file of the orders is deleted after planning.
    "vanish": 0,
    # Seconds that the driver waits between the job that writes and the job that calls the service.
    "wait": 0,
    # Whether the session stops while the stage with the Python function runs.
    "stop": 0,
}
KNOBS = USUAL | {key: float(value) for key, _, value in (each.partition("=") for each in sys.argv[3:])}
ROWS_A_CALL = 5_000
# Stages 0 to 5 read the schemas of the files and scan three tables.
LAST_SCAN = 5
SLEPT: set[int] = set()


def risk(note: str, segment: str) -> float:
    """Score an order. If the knobs require it, tasks 3 and 5 fail, and task 5 sleeps once."""
    task = TaskContext.get()
    place = task.partitionId() if task else -1
    if place in {3, 5} and task and task.attemptNumber() < KNOBS["failures"]:
        raise ValueError(f"no risk is known for segment {segment!r}")
    if place == 5 and task and KNOBS["straggle"] and task.taskAttemptId() not in SLEPT:
        SLEPT.add(task.taskAttemptId())
        time.sleep(KNOBS["straggle"])
    until = time.thread_time_ns() + int(1_000 * KNOBS["compute"])
    digest = hashlib.sha256(note.encode()).hexdigest()
    while time.thread_time_ns() < until:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return int(digest[:4], 16) / 65536


def publish(rows: Iterable[object]) -> None:
    """Send the rows to a service; this takes time but no CPU time."""
    for place, _ in enumerate(rows):
        if place % ROWS_A_CALL == 0:
            time.sleep(KNOBS["service"])


def main() -> None:
    """Run the nightly job once."""
    spark = SparkSession.builder.appName(f"daily revenue {DAY}").getOrCreate()
    if KNOBS["stop"]:
        threading.Thread(target=stop_in_the_middle, args=(spark,)).start()
    orders = spark.read.parquet(str(FOLDER / "orders")).where((F.col("day") == DAY) & (F.col("quantity") > 0))
    hashed = orders.withColumn("mark", F.crc32(F.sha2(F.repeat("note", int(KNOBS["repeat"])), 512)))
    customers = spark.read.parquet(str(FOLDER / "customers"))
    products = spark.read.parquet(str(FOLDER / "products"))
    scored = hashed.join(customers, "customer_id").withColumn("risk", F.udf(risk, "double")("note", "segment"))
    joined = scored.join(products, "product_id")
    revenue = joined.groupBy("customer_id", "category").agg(
        F.sum(F.col("price") * F.col("quantity") * F.col("rate")).alias("revenue"),
        F.max("risk").alias("risk"),
        F.max("mark").alias("mark"),
        # Each joined row takes a microsecond, so that a join with many rows takes long.
        F.max(F.crc32(F.sha2(F.concat("note", F.col("category").cast("string")), 512))).alias("seal"),
    )
    if KNOBS["vanish"]:
        next((FOLDER / "orders").glob("*.parquet")).unlink()
    written = str(FOLDER / "revenue")
    revenue.orderBy("revenue").write.mode("overwrite").parquet(written)
    time.sleep(KNOBS["wait"])
    spark.read.parquet(written).repartition(8).foreachPartition(publish)
    spark.stop()


def stop_in_the_middle(spark: SparkSession) -> None:
    """Stop the session when a stage after the three scans has ended tasks."""
    tracker = spark.sparkContext.statusTracker()

    def under_way() -> bool:
        known = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage and stage.stageId > LAST_SCAN and stage.numCompletedTasks for stage in known)

    while not under_way():
        time.sleep(0.1)
    spark.stop()


if __name__ == "__main__":
    main()
