"""A small nightly job whose runs the tests analyse: ``runs_job.py MODE``, run by ``make_runs.py``.

All modes run the same code, so that stages have the same fingerprints; only the data and the waiting differ.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable

from pyspark.sql import SparkSession

MODE = sys.argv[1]
ROWS = {"grown": 24_000}.get(MODE, 8_000)
# A slow service; waiting for it uses no CPU time.
WAIT_SECONDS = {"waits": 1.2}.get(MODE, 0.0)
HEAVY_ROWS = 1_500 if MODE == "skewed" else 0
HEAVY_BYTES = 2_000
PARTITIONS = 8


def keyed(number: int) -> tuple[int, str]:
    """Return key and text of a row. The texts compress poorly; in a skewed run, one key has most of the data."""
    heavy = number < HEAVY_ROWS
    text = random.Random(number).randbytes(HEAVY_BYTES if heavy else 50).hex()
    return 3 if heavy else number % PARTITIONS, text


def ask(rows: Iterable[tuple[int, str]]) -> Iterable[int]:
    """Process each row, and wait for a service at each hundredth row. Rows with long texts take longer."""
    for place, (_, text) in enumerate(rows):
        if place % 100 == 0:
            time.sleep(WAIT_SECONDS)
        yield sum(ord(letter) for letter in text * (40 if len(text) > HEAVY_BYTES else 1))


spark = SparkSession.builder.appName(f"nightly orders {time.strftime('%Y-%m-%d')}").getOrCreate()
pairs = spark.sparkContext.parallelize(range(ROWS), PARTITIONS).map(keyed)
total = pairs.partitionBy(PARTITIONS, lambda key: key).mapPartitions(ask).sum()
print(MODE, total)
spark.stop()
