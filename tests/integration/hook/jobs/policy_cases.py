"""One job for each policy of the hook; the setting `spark.test.case` selects it.

A task that hangs reads a named pipe that nobody writes, so it uses no CPU. The pipe is created beside the file that
`spark.test.until` names.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import Row, SparkSession

import sparkfuse

spark = SparkSession.builder.appName("policy").getOrCreate()
case, until = spark.conf.get("spark.test.case"), spark.conf.get("spark.test.until")
pipe = until + ".pipe"
os.mkfifo(pipe)
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
context = spark.sparkContext
print("APPLICATION", context.applicationId, context._jsc.sc().startTime(), flush=True)


def attempt() -> int:
    """Return the attempt number of this task."""
    found = TaskContext.get()
    assert found is not None
    return found.attemptNumber()


def hang() -> None:
    """Wait without using CPU."""
    with Path(pipe).open() as never:
        never.read()


def stuck(number: int) -> int:
    """Return ``number``; the first attempt of the task with the last number hangs."""
    if number == 4 and attempt() == 0:
        hang()
    return number


def doomed(number: int) -> int:
    """For number 1, fail three times in the same way; then hang, so that the test does not depend on time."""
    if number == 1 and attempt() < 3:
        raise ValueError(f"bad row {number}")
    hang()
    return number


def spin(number: int) -> int:
    """Compute without reading until the file exists."""
    while not Path(until).exists():
        number = (number * 31 + 7) % 1_000_003
    return number


def compute(rows: Iterator[Row]) -> Iterator[int]:
    """Compute for 5 ms for each row that is read."""
    for row in rows:
        end = time.monotonic() + 0.005
        while time.monotonic() < end:
            pass
        yield len(row.value)


def fill_heap() -> None:
    """Cache objects until the storage memory of the executors is full.

    Each row consists of several objects, so each collection of the old generation takes long.
    """
    rows = spark.range(0, 18_000_000, 1, 90).selectExpr("cast(id as string)")._jdf.javaRDD()
    rows.persist(context._jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY())
    rows.count()


def succeed(number: int) -> int:
    """Return a number after a short computation."""
    return sum(range(1_000_000 + number))


try:
    if case == "spinning":
        context.parallelize([1, 2], 2).foreach(spin)
    elif case == "computing":
        path = pipe + ".text"
        spark.range(80_000).selectExpr("repeat(cast(id as string), 250)").write.text(path)
        print("RESULT", spark.read.text(path).rdd.mapPartitions(compute).sum(), flush=True)
    elif case in ("collecting", "garbage"):
        if case == "collecting":
            fill_heap()
        garbage = spark.range(0, 10**12, 1, 3).selectExpr("sum(length(repeat(cast(id as string), 500)))")
        print("RESULT", garbage.collect(), flush=True)
    elif case == "succeeding":
        while not Path(until).exists():
            context.parallelize(range(8), 8).map(succeed).collect()
    elif case == "stuck":
        print("RESULT", context.parallelize([1, 2, 3, 4], 4).map(stuck).collect(), flush=True)
    elif case == "doomed":
        print("RESULT", context.parallelize([1, 2], 2).map(doomed).collect(), flush=True)
    elif case == "hanging":
        context.parallelize([1, 2], 2).foreach(lambda _: hang())
    else:
        path = pipe + ".parquet"
        spark.range(20_000).write.parquet(path)
        rows = spark.read.parquet(path)
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
        exploded = rows.crossJoin(rows.withColumnRenamed("id", "other")).repartition(4, "id")
        print("RESULT", exploded.selectExpr("max(id + other)").collect(), flush=True)
except Exception as error:
    print("ERROR", type(error).__name__, str(error).replace("\n", " "), flush=True)
if not context._jsc.sc().isStopped():
    print("USABLE", context.parallelize([1, 2]).sum(), flush=True)
# The hook waits for the work that it stopped; without this process it could not report the end.
while not Path(until).exists():
    threading.Event().wait(0.1)
spark.stop()
