"""Simulates a Python worker that starts slowly; Spark runs it instead of pyspark.daemon."""

import time

time.sleep(3)

from pyspark.daemon import manager  # noqa: E402  # the wait is the point

if __name__ == "__main__":
    manager()
