"""Run one job whose task waits until the application ends."""

import time

from pyspark import SparkContext

context = SparkContext()
print("APPLICATION", context.applicationId, flush=True)
print("START", context.startTime, flush=True)


def wait(_):
    time.sleep(3600)


context.parallelize([1], 1).foreach(wait)
