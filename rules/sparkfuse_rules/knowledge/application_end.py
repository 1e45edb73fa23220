"""Decide from evidence how an application ended, and what stopped its context during a job; live and offline.

Spark reports the time of an end, and before Spark 4 nothing else. It reports an end also if the driver exits on an
error, because a shutdown hook stops the context.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkfuse_rules.knowledge.failures import Failure, classify

RUNNING, SUCCEEDED, FAILED, UNKNOWN_END = "running", "succeeded", "failed", "unknown"
# Nobody knows how an application ended that was silent for this long without an end (DEAD_MS of ApplicationSilence).
MOST_SILENT_MS = 3_600_000
CONTEXT_STOPPED = "context_stopped"
# Spark lists the driver of a local application as an executor.
DRIVERS = frozenset({"driver", "<driver>"})
# Errors after which the JVM of a task exits (Executor, SparkUncaughtExceptionHandler). In a local application, that is
# the JVM of the driver.
_ENDS_JVM = frozenset({"heap_memory", "metaspace", "direct_memory", "threads_exhausted"})
# The text is stored for each application.
_MOST_CHARS = 2_000


def end_status(*, ended: bool, failed_jobs: int, running_jobs: int, complete: bool, silent_ms: int | None) -> str:
    """Return the status of an application: running, succeeded, failed or unknown.

    A job that runs when the application ends can no longer succeed. ``complete`` is whether all events about jobs were
    read; if not, an end without a failed job is unknown. ``silent_ms`` is the time since the last event.
    """
    if not ended:
        return UNKNOWN_END if (silent_ms or 0) >= MOST_SILENT_MS else RUNNING
    if failed_jobs:
        return FAILED
    if not complete:
        return UNKNOWN_END
    return FAILED if running_jobs else SUCCEEDED


def error_that_ends_driver(executor_id: str | None, failure_class: str | None, reason: str | None) -> str | None:
    """Return the text of a task's error if the error ends the JVM of the driver, else None."""
    if executor_id not in DRIVERS or classify(failure_class, reason).reason not in _ENDS_JVM:
        return None
    return f"{failure_class}: {reason}"[:_MOST_CHARS]


def cause_of_stop(failure: Failure, errors: Iterable[str]) -> str | None:
    """Return the last of some errors that ended the driver, if ``failure`` only says that the context stopped."""
    return next(reversed(list(errors)), None) if failure.reason == CONTEXT_STOPPED else None
