"""Tests how an application ended: only evidence decides, and everything else is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.knowledge.application_end import (
    MOST_SILENT_MS,
    SUCCEEDED,
    end_status,
    error_that_ends_driver,
)
from sparkfuse_rules.knowledge.job_failures import failure_of_job

STOPPED = "Job 1 cancelled because SparkContext was shut down"
HEAP = "java.lang.OutOfMemoryError: Java heap space"


@pytest.mark.parametrize(
    ("ended", "failed", "running", "complete", "silent_ms", "expected"),
    [
        (True, 0, 0, True, None, "succeeded"),
        (True, 1, 0, True, None, "failed"),
        (True, 0, 1, True, None, "failed"),
        (True, 0, 0, False, None, "unknown"),
        (True, 0, 1, False, None, "unknown"),
        (True, 1, 0, False, None, "failed"),
        (False, 0, 1, True, 0, "running"),
        (False, 0, 0, True, MOST_SILENT_MS - 1, "running"),
        (False, 0, 0, True, MOST_SILENT_MS, "unknown"),
        (False, 1, 0, True, MOST_SILENT_MS, "unknown"),
        (False, 0, 0, True, None, "running"),
    ],
)
def test_status_follows_from_evidence(ended, failed, running, complete, silent_ms, expected):
    """Each kind of evidence leads to one status."""
    status = end_status(ended=ended, failed_jobs=failed, running_jobs=running, complete=complete, silent_ms=silent_ms)

    assert status == expected


@given(st.booleans(), st.integers(0, 3), st.integers(0, 3), st.booleans(), st.none() | st.integers(0, 10**8))
def test_success_needs_all_evidence(ended, failed, running, complete, silent_ms):
    """An application succeeded only if it ended, its events are complete, and all its jobs ended well."""
    status = end_status(ended=ended, failed_jobs=failed, running_jobs=running, complete=complete, silent_ms=silent_ms)

    assert (status == SUCCEEDED) == (ended and complete and not failed and not running)


def test_silence_is_that_of_the_rule():
    """The rule application_incomplete reports a silent log from the time at which its status is unknown."""
    rule = load_catalog()["application_incomplete"]

    assert rule.params["max_log_silent_ms"].default == MOST_SILENT_MS


@pytest.mark.parametrize(
    ("error", "failure", "retry"),
    [
        (HEAP, "heap_memory", "larger"),
        ("java.lang.OutOfMemoryError: GC overhead limit exceeded", "heap_memory", "larger"),
        ("java.lang.OutOfMemoryError: Metaspace", "metaspace", "larger"),
        ("java.lang.OutOfMemoryError: Direct buffer memory", "direct_memory", "larger"),
        ("java.lang.IllegalStateException: odd", "context_stopped", "unknown"),
        ("java.net.ConnectException: Connection refused", "context_stopped", "unknown"),
    ],
)
def test_error_of_a_task_explains_the_end_of_its_own_driver(error, failure, retry):
    """An error that ends the JVM is the cause if the task ran in the driver; any other error is not."""
    of_class, _, reason = error.partition(": ")
    errors = [each for each in [error_that_ends_driver("driver", of_class, reason)] if each]
    found = failure_of_job(STOPPED, "", errors)[1]

    assert (found.reason, found.retry) == (failure, retry)
    assert error_that_ends_driver("1", of_class, reason) is None


def test_error_of_the_driver_explains_only_a_stopped_context():
    """A job that reports a cause of its own keeps it."""
    own = "Job aborted due to stage failure: java.io.IOException: No space left on device"

    assert failure_of_job(own, "", [HEAP])[1].reason == "disk_full"
    assert failure_of_job(STOPPED, "", [])[1].reason == "context_stopped"
    assert failure_of_job(STOPPED, "", ["first", HEAP]) == (HEAP, failure_of_job(HEAP, "")[1])
