"""Runs a few jobs that succeed and one that fails; prints Spark's counters and how long stopping took."""

import json
import time

from pyspark.sql import SparkSession, functions

spark = SparkSession.builder.appName("small").getOrCreate()
context = spark.sparkContext
counts = spark.range(0, 10_000, 1, 4).groupBy((functions.col("id") % 7).alias("k")).count().orderBy("k").collect()
print("RESULT", json.dumps([row["count"] for row in counts]), flush=True)
print("SUM", context.parallelize(range(100), 3).map(lambda x: x * 2).sum(), flush=True)


def broken(_):
    raise ValueError("cannot log in with password=hunter2")


try:
    # Only one task: a second one might be killed after the counters are read.
    context.parallelize([1], 1).map(broken).collect()
except Exception:
    print("FAILED", flush=True)

scala = context._jsc.sc()
scala.listenerBus().waitUntilEmpty()
store = scala.statusStore()
jobs = store.jobsList(None)
outcomes, stages = {}, {}
for job in [jobs.apply(i) for i in range(jobs.size())]:
    outcomes[job.jobId()] = job.status().toString() == "SUCCEEDED"
    for stage_id in [job.stageIds().apply(i) for i in range(job.stageIds().size())]:
        stage = store.lastStageAttempt(stage_id)
        if stage.status().toString() != "SKIPPED":
            ended = stage.numCompleteTasks() + stage.numFailedTasks() + stage.numKilledTasks()
            stages[stage_id] = [stage.numTasks(), ended, stage.shuffleWriteRecords()]
print("COUNTED", json.dumps({"jobs": outcomes, "stages": stages}), flush=True)
began = time.monotonic()
spark.stop()
print("STOPPED", time.monotonic() - began, flush=True)
