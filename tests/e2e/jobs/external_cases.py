"""One application for each policy of the external actuator. Usage: external_cases.py CASE.

`hung` runs one job that never ends, and the test stops its driver with SIGSTOP; `healthy` runs short jobs.
`zombie` reports its end, as `stop` does first, and then hangs, so it keeps its executors; `zombie_task` also leaves a
task that ignores its kill.
"""

import sys
import threading
import time

from pyspark.sql import SparkSession

case = sys.argv[1]
spark = SparkSession.builder.appName(case).getOrCreate()
context = spark.sparkContext
print("APPLICATION", context.applicationId, flush=True)
assert context.parallelize([1, 2], 2).sum() == 3
if case == "hung":
    context.parallelize([1], 1).foreach(lambda _: time.sleep(7_200))
while case == "healthy":
    context.parallelize(range(4), 4).foreach(lambda _: time.sleep(1))
if case == "zombie_task":

    def sleep_in_jvm() -> None:
        """Run a task that does not check whether it was killed; as a query, Spark would interrupt it."""
        context.setJobGroup("sleeping", "a job that is cancelled")
        sleeping = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', id + 7200000L)")
        sleeping._jdf.javaRDD().count()

    threading.Thread(target=sleep_in_jvm, daemon=True).start()
    tracker = context.statusTracker()
    while not any(
        stage.numActiveTasks for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each))
    ):
        time.sleep(0.1)
    # The plugin reports a running task a few seconds after its start.
    time.sleep(5)
    context.cancelJobGroup("sleeping")
end = context._jvm.org.apache.spark.scheduler.SparkListenerApplicationEnd(int(time.time() * 1000))
context._jsc.sc().listenerBus().post(end)
print("ENDED", flush=True)
time.sleep(7_200)
