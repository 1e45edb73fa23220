"""One application for each policy of the external actuator. Usage: external_cases.py CASE PIPE.

`hung` runs one job that never ends, and the test stops its driver with SIGSTOP; `healthy` runs short jobs.
`zombie` reports its end, as `stop` does first, and then hangs, so it keeps its executors; `zombie_task` also leaves a
task that ignores its kill. A process that hangs reads the named pipe PIPE, which nobody writes.
"""

import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

case, pipe = sys.argv[1:]
folder = Path(pipe).parent
spark = SparkSession.builder.appName(case).getOrCreate()
context = spark.sparkContext
print("APPLICATION", context.applicationId, flush=True)
assert context.parallelize([1, 2], 2).sum() == 3


def hang() -> None:
    """Wait without using CPU."""
    Path(pipe).read_bytes()


def wait_in_jvm() -> None:
    """Run a task that does not check whether it was killed; as a query, Spark would interrupt it."""
    context.setJobGroup("waiting", "a job that is cancelled")
    begins = f"java_method('org.apache.spark.util.Utils', 'createTempDir', '{folder}', 'waits')"
    waits = "java_method('java.lang.Thread', 'sleep', id + 7200000L)"
    waiting = spark.range(1).selectExpr(f"concat({begins}, {waits})")
    waiting._jdf.javaRDD().count()


if case == "hung":
    context.parallelize([1], 1).foreach(lambda _: hang())
while case == "healthy":
    context.parallelize(range(4), 4).foreach(lambda number: sum(range(1_000_000 + number)))
if case == "zombie_task":
    threading.Thread(target=wait_in_jvm, daemon=True).start()
    # A task that is killed before it waits would end.
    while not list(folder.glob("waits*")):
        pass
    context.cancelJobGroup("waiting")
end_ms = context._jvm.System.currentTimeMillis()
context._jsc.sc().listenerBus().post(context._jvm.org.apache.spark.scheduler.SparkListenerApplicationEnd(end_ms))
print("ENDED", flush=True)
hang()
