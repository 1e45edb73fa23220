"""Tests the verdict of the Airflow integration on exceptions and on failure texts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sparkfuse.airflow import Verdict, refuse_doomed_retries
from sparkfuse.airflow.verdict import verdict_of_exception, verdict_of_text
from sparkfuse.hook import FuseBlownError, FuseWarnedError, LimitExceededError

MISSING = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `orders` cannot be found."
Py4JJavaError = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
BLOWN = FuseBlownError("stage_runaway_spill", "60 GiB", "set a hold")
LIMIT = LimitExceededError("max_seconds", "the block ran longer than 9 s", "raise max_seconds")
# The evidence of a warning may quote Spark.
WARNED = FuseWarnedError("task_failures", f"org.apache.spark.sql.AnalysisException: {MISSING}", "set a hold")
BLOCK_STOPPED = (
    "Job 3 cancelled [SPARKFUSE_BLOCK_STOPPED] Sparkfuse stopped block orders. Tag: sparkfuse-block.0. "
    "Limit: max_spill 10. Evidence: 20 bytes. To override: raise max_spill of the block. (end)"
)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(Py4JJavaError(f"org.apache.spark.sql.AnalysisException: {MISSING}"), ("never", "sql_invalid"),
                     id="exception of the gateway"),
        pytest.param(caused(RuntimeError("load failed"), Py4JJavaError("java.net.ConnectException: Connection reset")),
                     ("transient", "network"), id="cause of another exception"),
        pytest.param(RuntimeError(f"org.apache.spark.sql.AnalysisException: {MISSING}"), ("never", "sql_invalid"),
                     id="text that names a class of Spark"),
        pytest.param(Py4JJavaError("org.apache.spark.SparkException: Job aborted\n\tat x\nCaused by: "
                                   "java.lang.OutOfMemoryError: Java heap space\n\tat y"),
                     ("larger", "heap_memory"), id="innermost cause of a Java stack"),
        pytest.param(BLOWN, ("never", "fuse"), id="exception of the fuse"),
        pytest.param(caused(ValueError("x"), BLOWN), ("never", "fuse"), id="cause is the fuse"),
        pytest.param(LIMIT, ("never", "fuse"), id="limit of a block"),
        pytest.param(Py4JJavaError(BLOCK_STOPPED), ("never", "fuse"), id="limit of a block, in the text of Spark"),
        pytest.param(RuntimeError(f"org.apache.spark.SparkException: {LIMIT}"), ("never", "fuse"),
                     id="limit of a block, in the text of another exception"),
        pytest.param(WARNED, None, id="warning of the fuse"),
        pytest.param(caused(FuseWarnedError("r", "", ""), Py4JJavaError("java.net.ConnectException: Connection reset")),
                     ("transient", "network"), id="warning with a cause"),
        pytest.param(ValueError(f"AnalysisException: {MISSING}"), None, id="exception of other code"),
        pytest.param(Py4JJavaError("something new"), None, id="unknown class"),
    ],
)  # fmt: skip
def test_verdict_follows_the_failure_class(error, expected):
    """Only Spark failures are classified. A job that the fuse stopped is doomed; a warning changes no verdict."""
    found = verdict_of_exception(error)

    assert (None if found is None else (found.retry, found.failure)) == expected


def test_fuse_reason_of_spark_is_kept():
    """The reason that the plugin writes into Spark's exception is the evidence of the verdict."""
    text = (
        "org.apache.spark.SparkException: Job 3 cancelled: [SPARKFUSE_FUSE_BLOWN] Sparkfuse cancelled stage 7. "
        "Rule: stage_runaway_spill. Evidence: 60 GiB. To override: set a hold. (signal s1)"
    )

    assert str(verdict_of_text(text)).startswith(
        "Sparkfuse: a retry would fail in the same way (fuse). The fuse stopped the job: [SPARKFUSE_FUSE_BLOWN]"
    )


def test_circular_causes_end():
    """A circular chain of causes does not cause an endless loop."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first

    assert verdict_of_exception(first) is None


def test_larger_passes_unless_it_is_refused():
    """By default an exception for lack of memory is raised unchanged, because a person may increase the memory."""
    with pytest.raises(Py4JJavaError), refuse_doomed_retries():
        raise Py4JJavaError("java.lang.OutOfMemoryError: Java heap space")


def test_success_passes_the_result():
    """A task that succeeds is not changed."""

    @refuse_doomed_retries()
    def add(one: int, two: int) -> int:
        return one + two

    assert add(1, 2) == 3


def test_integration_needs_no_heavy_package():
    """The integration imports only the standard library and YAML, so it can be installed beside Airflow."""
    code = (
        "import sys; import sparkfuse.airflow; from sparkfuse.airflow.verdict import verdict_of_text as v; v('x');"
        "import sparkfuse.airflow.store;"
        "print(*sorted({n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", _with_paths(code)], capture_output=True, text=True, check=True)
    own = {"__main__", "sparkfuse", "sparkfuse_rules", "sparkfuse_contracts", "yaml", "_yaml"}
    found = {name for name in done.stdout.split() if "cython" not in name}  # the runtime of YAML's C code

    assert found - own == set()


def _with_paths(code: str) -> str:
    return f"import sys; sys.path += {sys.path!r}; {code}"


def test_verdict_is_one_sentence_each():
    """The text of a verdict consists of advice, failure class and evidence."""
    assert str(Verdict("transient", "network", "refused")) == "Sparkfuse: a retry can succeed (network). refused"
