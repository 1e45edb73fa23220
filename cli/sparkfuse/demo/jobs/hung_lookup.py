"""A Python function waits for the answer of a remote service, so one task of the stage hangs.

Usage: hung_lookup.py [SECONDS]. The answer arrives after SECONDS, so that the job always ends.
"""

import sys
import time

from pyspark.sql import SparkSession


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    spark = SparkSession.builder.appName("address_lookup").getOrCreate()

    def look_up(number):
        if number == 777:
            time.sleep(seconds)  # the call waits like one on a socket without a timeout
        return number % 10

    print(spark.sparkContext.parallelize(range(1_000), 4).map(look_up).sum())
    spark.stop()


if __name__ == "__main__":
    main()
