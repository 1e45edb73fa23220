"""A job of two owners in one driver: the jobs of ann and bob run at the same time, and then bob's runs alone.

Usage: set `spark.test.until` to the path of the file for which bob waits; the job of ann ends when both run.
"""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import SparkSession

import sparkfuse

spark = SparkSession.builder.appName("shared").getOrCreate()
until = Path(spark.conf.get("spark.test.until"))
alone = until.with_name("alone")
fuse = sparkfuse.CircuitBreaker(spark)
while not fuse.state()["watching"]:
    pass
context = spark.sparkContext
print("APPLICATION", context.applicationId, context._jsc.sc().startTime(), flush=True)


def compute(path: Path) -> int:
    """Compute until the file exists."""
    while not path.exists():
        pass
    return 1


def run(owner: str, path: Path) -> None:
    """Run a job of one task in the owner's job group."""
    context.setJobGroup(owner, f"the work of {owner}")
    try:
        print("RESULT", owner, context.parallelize([path], 1).map(compute).collect(), flush=True)
    except Exception as error:
        print("ERROR", owner, str(error).replace("\n", " "), flush=True)


ann = threading.Thread(target=run, args=("ann", alone))
ann.start()
while not context.statusTracker().getJobIdsForGroup("ann"):
    pass
bob = threading.Thread(target=run, args=("bob", until))
bob.start()
while not context.statusTracker().getJobIdsForGroup("bob"):
    pass
alone.touch()
ann.join()
print("ALONE", flush=True)
bob.join()
spark.stop()
