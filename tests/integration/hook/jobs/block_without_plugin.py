"""Job code with limited blocks, on a driver without the plugin."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from time import sleep

from pyspark.sql import SparkSession

from sparkfuse import CircuitBreaker, LimitExceededError

logging.basicConfig(level=logging.WARNING)
spark = SparkSession.builder.appName("blocks").getOrCreate()
folder = Path(spark.conf.get("spark.test.until"))


def waiting(name: str) -> int:
    """Run a job whose task sleeps until a file exists."""

    def wait(row: int) -> int:
        while not (folder / name).exists():
            sleep(0.05)
        return row

    return spark.sparkContext.parallelize([1], 1).map(wait).count()


slow = CircuitBreaker(spark, "slow", max_seconds=0.5)
try:
    with slow:
        with slow.safe_point():
            threading.Timer(2, (folder / "committed").touch).start()
            print("COMMITTED", waiting("committed"), flush=True)
        waiting("never")
except LimitExceededError as error:
    print("LIMIT", error.rule, error.doing, flush=True)
with CircuitBreaker(spark, "rows", max_output_rows=1):
    print("ROWS", spark.range(10).count(), flush=True)
print("END", spark.range(10).count(), flush=True)
(folder / "never").touch()
spark.stop()
