"""A driver that serves the queries of two users, as a Thrift server does; run by ``make_server.py`` with an event log.

Ann repeats a query of four seconds, bob one whose duration follows its input. One query of bob fails. The last query of
ann waits seven times as long for the same input.
"""

from __future__ import annotations

import contextlib
import sys
from threading import Thread

from pyspark.sql import SparkSession

RUNS = 6
WAIT = "reflect('java.lang.Thread', 'sleep', CAST({ms} AS BIGINT))"
ANN = f"SELECT max(waited) FROM (SELECT {WAIT} AS waited FROM range(0, 20, 1, 2))"
BOB = (
    f"SELECT key, max(waited) FROM (SELECT id % 3 AS key, {WAIT} AS waited FROM range(0, {{rows}}, 1, 2)) GROUP BY key"
)
FAILS = "SELECT raise_error('boom') FROM range(0, 2, 1, 2)"


def run_user(spark: SparkSession, name: str, statements: list[str]) -> None:
    session = spark.newSession()
    for statement in statements:
        session.sparkContext.setJobGroup(name, f"query of {name}")
        with contextlib.suppress(Exception):
            session.sql(statement).collect()


def main() -> int:
    spark = SparkSession.builder.appName("Thrift JDBC/ODBC Server").getOrCreate()
    ann = [ANN.format(ms=400)] * RUNS + [ANN.format(ms=2_800)]
    bob = [BOB.format(ms=150, rows=rows) for rows in (20, 40, 60, 30, 50, 20)]
    users = {"ann": ann, "bob": [*bob[:3], FAILS, *bob[3:], BOB.format(ms=150, rows=80)]}
    threads = [Thread(target=run_user, args=(spark, name, each)) for name, each in users.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
