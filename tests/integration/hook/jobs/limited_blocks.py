"""Job code whose blocks have limits, without a broker. It prints one line per case.

Usage: set `spark.test.until` to a folder for output and submit limited_blocks.py.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from time import sleep

from pyspark.sql import SparkSession

from sparkfuse import CircuitBreaker, FuseError, LimitExceededError

spark = SparkSession.builder.appName("blocks").getOrCreate()
folder = Path(spark.conf.get("spark.test.until"))


def waiting(name: str) -> int:
    """Run a job whose task sleeps until a file exists."""

    def wait(row: int) -> int:
        while not (folder / name).exists():
            sleep(0.05)
        return row

    return spark.sparkContext.parallelize([1], 1).map(wait).count()


def report(case: str, breaker: CircuitBreaker, run: object) -> None:
    """Run a function in a block of the `CircuitBreaker` and print how the block ended."""
    try:
        with breaker:
            print(case, "RESULT", run(), flush=True)  # type: ignore[operator]
    except LimitExceededError as error:
        print(case, "LIMIT", error.rule, error.stopped_by, error.doing, type(error.__cause__).__name__, flush=True)
    except Exception as error:
        print(case, "ERROR", type(error).__name__, error, flush=True)


other = CircuitBreaker(spark, "other", max_seconds=600)
thread = threading.Thread(target=report, args=("OTHER", other, lambda: waiting("other")))
thread.start()

opened: list[FuseError] = []
report("SECONDS", CircuitBreaker(spark, "slow", max_seconds=0.5, on_open=opened.append), lambda: waiting("never"))
print("OPENED", [error.rule for error in opened], flush=True)
print("USABLE", spark.range(10).count(), thread.is_alive(), flush=True)


def write(rows: int, name: str) -> int:
    """Write rows, then wait."""
    spark.range(rows).write.mode("overwrite").parquet(str(folder / name))
    return waiting("never") if rows > 100 else rows


report("ROWS", CircuitBreaker(spark, "rows", max_output_rows=100), lambda: write(1_000, "many"))
report("FEW", CircuitBreaker(spark, "few", max_output_rows=100), lambda: write(10, "few"))
report("COST", CircuitBreaker(spark, "cost", max_cost=0.0001, price=1.0), lambda: waiting("never"))


@CircuitBreaker(spark, max_seconds=0.5)
def decorated() -> int:
    """Wait in a decorated function."""
    return waiting("never")


@CircuitBreaker(spark, "coroutine", max_seconds=0.5)
async def limited(ready: asyncio.Event) -> int:
    """Let the other coroutine run, then wait."""
    ready.set()
    await asyncio.sleep(1)
    return waiting("never")


async def free(ready: asyncio.Event) -> int:
    """Run a Spark job while the limited coroutine is suspended."""
    await ready.wait()
    tag = spark.sparkContext.getLocalProperty("sparkfuse.block")
    print("SUSPENDED", tag, spark.range(10).count(), flush=True)
    return 1


async def both() -> list[object]:
    """Run both coroutines on one thread."""
    ready = asyncio.Event()
    return list(await asyncio.gather(limited(ready), free(ready), return_exceptions=True))


try:
    decorated()
except LimitExceededError as error:
    print("DECORATED", error.rule, error.doing, flush=True)
results = asyncio.run(both())
print("ASYNC", [getattr(each, "doing", each) for each in results], flush=True)

commit = CircuitBreaker(spark, "commit", max_seconds=0.5)


def committing() -> int:
    """Run longer than the limit in a safe point, and then again outside of it."""
    with commit.safe_point():
        threading.Timer(2, (folder / "committed").touch).start()
        print("COMMITTED", waiting("committed"), flush=True)
    return waiting("never")


report("COMMIT", commit, committing)
(folder / "other").touch()
thread.join()
print("END", spark.range(10).count(), spark.sparkContext.getLocalProperty("sparkfuse.block"), flush=True)
spark.stop()
