"""Kills the thread of the collector's Kafka client with an Error when the file that spark.test.kill names exists.

The script runs Spark jobs until the file that spark.test.flag names exists.
"""

from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("dead").getOrCreate()
context = spark.sparkContext
kill, flag = (Path(context.getConf().get(f"spark.test.{name}")) for name in ("kill", "flag"))


def client_threads():
    threads = context._jvm.java.lang.Thread.getAllStackTraces().keySet()
    return [thread for thread in threads if thread.getName().startswith("kafka-producer-network-thread | sparkfuse")]


def work():
    return spark.range(0, 1000, 1, 4).selectExpr("sum(id)").collect()[0][0]


while not kill.exists():
    work()
[thread] = client_threads()
thread.stop()  # throws ThreadDeath, which is an Error
thread.join()
print("DEAD", flush=True)
while not flag.exists():
    total = work()
print("SUM", total, flush=True)
context._jsc.sc().listenerBus().waitUntilEmpty()
spark.stop()
print("STOPPED", flush=True)
