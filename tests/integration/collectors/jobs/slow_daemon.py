"""Stands for a Python worker that takes long to start: Spark starts it in place of pyspark.daemon."""

import time

time.sleep(3)

from pyspark.daemon import manager  # noqa: E402  # the wait is the point

if __name__ == "__main__":
    manager()
