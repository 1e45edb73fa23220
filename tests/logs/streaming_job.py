"""Runs streaming queries with one problem each, and for each of them a query that only looks similar.

Each query has a name: the rule that it must match, or "no-" with the rule. The program stops all of them after
``SECONDS``. Batches that are slow, and pauses of a query, are part of the problems, so they take real time.
"""

from __future__ import annotations

import tempfile
import time

from pyspark.sql import DataFrame, SparkSession, functions

SECONDS = 210
TRIGGER = "5 seconds"
AWAY_SECONDS = 60
spark = SparkSession.builder.appName("streaming problems").getOrCreate()


def rates(rows_per_second: int) -> DataFrame:
    """Return a stream of rows with a time and a number."""
    return spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()


def lagging(**options: object) -> DataFrame:
    """Return a stream whose source reports its lag."""
    reader = spark.readStream.format("LagSource")
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def slowly(seconds_per_row: float, least: float = 0.0):
    """Return a function that processes a batch and takes this long."""

    def process(batch: DataFrame, number: int) -> None:
        time.sleep(max(least, batch.count() * seconds_per_row))

    return process


def start(stream: DataFrame, name: str, checkpoint: str | None = None, process=None):
    """Start a query; without ``process`` its rows are discarded."""
    writer = stream.writeStream.queryName(name).trigger(processingTime=TRIGGER).outputMode("update")
    if checkpoint:
        writer = writer.option("checkpointLocation", checkpoint)
    return (writer.foreachBatch(process) if process else writer.format("noop")).start()


def behind_and_catching_up() -> None:
    """Start a query whose batches take 7 s, and one that has to catch up after a minute without it."""
    start(rates(10), "batch_behind", process=slowly(0, 7))
    restarted = tempfile.mkdtemp()
    first = start(rates(100), "no-batch_behind", restarted, slowly(0.006))
    while not any(progress["numInputRows"] for progress in first.recentProgress):
        first.awaitTermination(1)
    first.stop()
    time.sleep(AWAY_SECONDS)
    start(rates(100), "no-batch_behind", restarted, slowly(0.006))


def lags() -> None:
    """Start a query to which more rows arrive than it reads, and one that works off a burst of 40 s."""
    start(lagging(rate=200, limit=400), "backlog_growing", process=slowly(0.01))
    burst = {"burst": 100, "burstFrom": 60, "burstTo": 100}
    start(lagging(rate=20, limit=400, **burst), "no-backlog_growing", process=slowly(0.01))


def watermarks() -> None:
    """Start a query whose event times stop after 20 s, and one whose event times are rounded to minutes."""
    # Half a second, so that the latest event time does not look as if it was rounded to a minute.
    stop_at = functions.timestamp_seconds(functions.lit(int(time.time()) + 20.5))
    stopped = rates(20).withColumn("at", functions.least("timestamp", stop_at)).withWatermark("at", "5 seconds")
    start(stopped.groupBy(functions.window("at", "10 seconds"), "value").count(), "watermark_stuck")
    rounded = rates(20).withColumn("at", functions.date_trunc("minute", "timestamp")).withWatermark("at", "5 seconds")
    start(rounded.groupBy(functions.window("at", "10 seconds"), "value").count(), "no-watermark_stuck")


def states() -> None:
    """Start a query that keeps every row in its state, and one that keeps the rows of ten seconds."""
    start(rates(500).dropDuplicates(["value"]), "state_growing")
    limited = rates(500).withWatermark("timestamp", "10 seconds")
    start(limited.dropDuplicatesWithinWatermark(["value"]), "no-state_growing")


began = time.time()
lags()
watermarks()
states()
behind_and_catching_up()
spark.streams.resetTerminated()
spark.streams.awaitAnyTermination(max(1, int(began + SECONDS - time.time())))
for query in spark.streams.active:
    query.stop()
spark.stop()
print("STOPPED", flush=True)
