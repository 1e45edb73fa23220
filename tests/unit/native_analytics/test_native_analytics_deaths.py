"""Tests the outcome of real applications that end in different ways, from their event logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.event_logs.reading import read_log
from sparkfuse_native_analytics.offline.application import application_of
from sparkfuse_native_analytics.offline.job_rows import job_rows

DEATHS = Path(__file__).parents[2] / "logs" / "deaths"
# Each log: the status of the application, and the failure class and retry decision of its failed job.
# A log that just ends has no failed job. Before Spark 4, an exit between two jobs leaves no trace in the log. If the
# whole heap is full, as in skewed-heap, Spark may end before it writes the error of the task.
OUTCOMES = {
    "clean": ("succeeded", None, None),
    "no-stop": ("succeeded", None, None),
    "exit-between-jobs": ("succeeded", None, None),
    "stopped": ("failed", "context_stopped", "unknown"),
    "stopped-cluster": ("failed", "context_stopped", "unknown"),
    "exit": ("failed", "context_stopped", "unknown"),
    "heap": ("failed", "heap_memory", "larger"),
    "direct": ("failed", "direct_memory", "larger"),
    "skewed-heap": ("failed", "context_stopped", "unknown"),
    "killed": ("unknown", None, None),
    "killed-cluster": ("unknown", None, None),
}
LONG_AFTERWARDS = 10**13
RECORDED = {path.name.partition(".")[0]: path for path in sorted(DEATHS.iterdir()) if path.suffix != ".md"}


def test_every_recorded_log_has_an_outcome():
    """Each log of tests/logs/deaths is in the table."""
    assert set(RECORDED) <= set(OUTCOMES)


@pytest.mark.parametrize("name", RECORDED)
def test_real_end_is_not_guessed(name: str) -> None:
    """An application succeeded only with evidence; a job that its context ended names the cause before the end."""
    (log,) = find_logs(str(RECORDED[name])).logs
    application = application_of(read_log(log), now_ms=LONG_AFTERWARDS)
    jobs = [(row["failure"], row["retry"]) for row in job_rows(application)]
    failure, retry = jobs[0] if jobs else (None, None)

    assert (application.row["status"], failure, retry) == OUTCOMES[name]
    assert application.ended_well == (OUTCOMES[name][0] == "succeeded")
