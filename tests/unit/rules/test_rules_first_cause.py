"""Tests how the first cause is found in error texts from Spark, the JVM and Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.first_cause import MOST_CHARS, first_cause

JAVA = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage "
    "1.0 (TID 7) (worker-3 executor 2): org.apache.spark.SparkException: Task failed while writing rows.\n"
    "\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask(FileFormatWriter.scala:420)\n"
    "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
    "Caused by: java.io.IOException: write failed\n\tat x.Y.z(Y.java:1)\n\t... 9 more\n"
    "Caused by: java.io.IOException: No space left on device\n\tat x.Y.z(Y.java:2)\n\t... 12 more\n\n"
    "Driver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler.failJob(DAGScheduler.scala:2856)"
)
SPARK_2 = (
    "Job aborted due to stage failure: Task 3 in stage 2.0 failed 1 times, most recent failure: Lost task 3.0 in stage "
    "2.0 (TID 19, localhost, executor driver): java.lang.RuntimeException: got a 3, failing\n"
    "\tat $line11.$read$$iw$$iw$$anonfun$1.apply(<console>:18)\n\nDriver stacktrace:"
)
PYTHON = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1247, in main\n    process()\n'
    "    ^^^^^^^^^\n"
    '  File "/jobs/orders.py", line 50, in price\n    return float(text)\n'
    "ValueError: could not convert string to float: 'n/a'\n\n"
    "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)\n"
)
CHAINED = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "/jobs/a.py", line 1, in f\n    d["k"]\nKeyError: \'k\'\n\n'
    "During handling of the above exception, another exception occurred:\n\n"
    'Traceback (most recent call last):\n  File "/jobs/a.py", line 3, in f\nRuntimeError: no luck\n'
)
LOST = (
    "ExecutorLostFailure (executor 3 exited caused by one of the running tasks) Reason: Container killed by YARN for "
    "exceeding physical memory limits. 9.1 GB of 9 GB physical memory used."
)
FETCH = (
    "FetchFailed(BlockManagerId(3, worker-3, 7337, None), shuffleId=2, mapIndex=14, mapId=140, reduceId=3, message=\n"
    "org.apache.spark.shuffle.FetchFailedException: Failed to connect to worker-3:7337\n"
    "\tat org.apache.spark.storage.ShuffleBlockFetcherIterator.throwFetchFailedException(X.scala:1167)\n"
    "Caused by: java.net.ConnectException: Connection refused: worker-3/10.0.0.3:7337\n\tat a.b(C.java:1)\n\n)"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(JAVA, "java.io.IOException: No space left on device", id="the innermost of a chain"),
        pytest.param(SPARK_2, "java.lang.RuntimeException: got a 3, failing", id="Spark 2 format"),
        pytest.param(
            SPARK_2.replace(", executor driver", ""),
            "java.lang.RuntimeException: got a 3, failing",
            id="Spark 1 format",
        ),
        pytest.param(PYTHON, "ValueError: could not convert string to float: 'n/a'", id="python"),
        pytest.param(CHAINED, "KeyError: 'k'", id="the first of chained tracebacks"),
        pytest.param(LOST, LOST.split("Reason: ")[1], id="a lost executor"),
        pytest.param(FETCH, "java.net.ConnectException: Connection refused: worker-3/10.0.0.3:7337", id="a fetch"),
        pytest.param("java.lang.ArithmeticException: / by zero", "java.lang.ArithmeticException: / by zero", id="bare"),
        pytest.param("Job 3 cancelled by user", "Job 3 cancelled by user", id="a sentence"),
        pytest.param(
            "org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist.\n  on two lines",
            "org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist. on two lines",
            id="a message of two lines",
        ),
        pytest.param(
            "Traceback (most recent call last):\n  File cut here",
            "Traceback (most recent call last): File cut here",
            id="truncated",
        ),
        pytest.param("  \n ", None, id="blank"),
        pytest.param(None, None, id="no text"),
    ],
)  # fmt: skip
def test_first_cause_is_found(text: str | None, cause: str | None) -> None:
    """The first cause is one line with the exception that caused the failure."""
    assert first_cause(text) == cause


@given(st.text(max_size=5000))
def test_any_text_gives_one_short_line(text: str) -> None:
    """Any text gives at most one line of 500 characters, without an error."""
    found = first_cause(text)

    assert (found is None) == (not text.strip())
    assert found is None or (len(found) <= MOST_CHARS and "\n" not in found)
