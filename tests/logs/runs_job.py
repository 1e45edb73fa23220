"""A small nightly job whose runs the tests judge: ``runs_job.py MODE``, run by ``make_runs.py``.

The same code in every mode, so that its stages are the same stages: what differs comes from the environment.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable

from pyspark.sql import SparkSession

MODE = sys.argv[1]
ROWS = {"grown": 24_000}.get(MODE, 8_000)
# A service that answers late: time passes, no CPU is used.
WAIT_SECONDS = {"waits": 1.2}.get(MODE, 0.0)
HEAVY_ROWS = 1_500 if MODE == "skewed" else 0
HEAVY_BYTES = 2_000
PARTITIONS = 8


def keyed(number: int) -> tuple[int, str]:
    """Each key gets its share of texts that no codec makes small, but for the heavy one of a skewed run."""
    heavy = number < HEAVY_ROWS
    text = random.Random(number).randbytes(HEAVY_BYTES if heavy else 50).hex()
    return 3 if heavy else number % PARTITIONS, text


def ask(rows: Iterable[tuple[int, str]]) -> Iterable[int]:
    """Work on each row, and wait for the service on each hundredth; long texts take long."""
    for place, (_, text) in enumerate(rows):
        if place % 100 == 0:
            time.sleep(WAIT_SECONDS)
        yield sum(ord(letter) for letter in text * (40 if len(text) > HEAVY_BYTES else 1))


spark = SparkSession.builder.appName(f"nightly orders {time.strftime('%Y-%m-%d')}").getOrCreate()
pairs = spark.sparkContext.parallelize(range(ROWS), PARTITIONS).map(keyed)
total = pairs.partitionBy(PARTITIONS, lambda key: key).mapPartitions(ask).sum()
print(MODE, total)
spark.stop()
