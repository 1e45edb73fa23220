"""Why executors go, and how many went lately: one step for each that joins or leaves, over a small state."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from sparkfuse_rules.knowledge.failures import BENIGN, Failure, classify

# How long a loss counts as lately.
WINDOW_MS = 600_000
# An application that loses more within that time is beyond every threshold anyway.
MOST_REMEMBERED = 1_000
_EXIT_CODE = re.compile(r"(?i)exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? ?(-?\d+)")
# Spark ends the application first and its executors then; their clocks are not the same.
CLOCK_SLACK_MS = 1_000
# What no executor dies of because its application ends, but what an application may end by.
_ENDS_APPLICATIONS = frozenset({
    "container_memory", "direct_memory", "disk_full", "gpu_memory", "heap_memory", "heartbeat_lost", "metaspace",
    "python_memory",
})  # fmt: skip
# Entries of the table that say no more than that it went.
_SAYS_NOTHING = frozenset({"unknown", "executor_lost"})
# Spark's own exit codes (SparkExitCode, ExecutorExitCode) and those of signals.
_BY_EXIT_CODE = {
    52: Failure("configuration", "heap_memory", "larger"),
    53: Failure("infrastructure", "disk_full", "transient"),
    56: Failure("infrastructure", "heartbeat_lost", "transient"),
    134: Failure("infrastructure", "process_crashed", "transient"),
    137: Failure("infrastructure", "process_killed", "transient"),
    139: Failure("infrastructure", "process_crashed", "transient"),
    143: Failure("infrastructure", "process_killed", "transient"),
}


@dataclass(frozen=True)
class ExecutorRemoval:
    """One executor that went away. Times are ms since the epoch; None for what is not known."""

    removed_ms: int
    added_ms: int | None = None
    reason: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True)
class ExecutorLosses:
    """The executors of one application: how many are there, how many were at most, and who was lost lately and why."""

    present: int = 0
    peak: int = 0
    recent: tuple[tuple[int, str], ...] = ()


def executor_added(losses: ExecutorLosses) -> ExecutorLosses:
    """The state with one executor more."""
    return replace(losses, present=losses.present + 1, peak=max(losses.peak, losses.present + 1))


def executor_removed(losses: ExecutorLosses, executor: ExecutorRemoval) -> tuple[ExecutorLosses, dict[str, Any]]:
    """The state with one executor less, and the columns of executor_loss that say why it went and who else did.

    One that was asked to leave is benign and counts for nobody. Columns: exit_code and lived_ms where known,
    failure_kind, failure, lost_executors, peak_executors, lost_alike.
    """
    exit_code = executor.exit_code if executor.exit_code is not None else exit_code_of(executor.reason)
    failure = classify_removal(executor.reason, exit_code)
    recent = tuple(each for each in losses.recent if each[0] > executor.removed_ms - WINDOW_MS)
    if failure.kind != BENIGN:
        recent = (*recent, (executor.removed_ms, failure.reason))[-MOST_REMEMBERED:]
    after = ExecutorLosses(max(0, losses.present - 1), max(losses.peak, 1), recent)
    columns: dict[str, Any] = {
        "failure_kind": failure.kind,
        "failure": failure.reason,
        "lost_executors": len(recent),
        "peak_executors": after.peak,
        "lost_alike": sum(reason == failure.reason for _, reason in recent),
    }
    if exit_code is not None:
        columns["exit_code"] = exit_code
    if executor.added_ms is not None:
        columns["lived_ms"] = max(0, executor.removed_ms - executor.added_ms)
    return after, columns


def removed_with_application(ended_ms: int, removed_ms: int, failure: str) -> bool:
    """Whether an executor that went at ``removed_ms`` of ``failure`` went because the application ended [ms, epoch].

    The last second before the end is the clocks', but for what an application may end by.
    """
    return removed_ms >= ended_ms - (0 if failure in _ENDS_APPLICATIONS else CLOCK_SLACK_MS)


def classify_removal(reason: str | None, exit_code: int | None) -> Failure:
    """What took the executor: by Spark's text, and by the exit code where that says only that it went."""
    failure = classify(None, reason)
    if failure.reason in _SAYS_NOTHING and exit_code in _BY_EXIT_CODE:
        return _BY_EXIT_CODE[exit_code]
    return failure


def exit_code_of(reason: str | None) -> int | None:
    """The exit code that the text names; None without one."""
    found = _EXIT_CODE.search(reason or "")
    return int(found[1]) if found else None
