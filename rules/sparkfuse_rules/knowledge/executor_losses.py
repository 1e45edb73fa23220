"""Track the executors of an application: why they were removed, and how many were lost within ten minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sparkfuse_rules.knowledge import pods
from sparkfuse_rules.knowledge.failures import BENIGN, Failure, classify, exit_code_of, failure_of_exit_code

# The time for which a loss counts as recent.
WINDOW_MS = 600_000
# Maximum number of stored losses within the window; more losses exceed every threshold anyway.
MOST_REMEMBERED = 1_000
# Spark ends the application before it removes the executors, but the clocks of driver and executors may differ.
CLOCK_SLACK_MS = 1_000
# Failures that may cause the end of an application, but are never caused by this end.
_ENDS_APPLICATIONS = frozenset({
    "container_memory", "direct_memory", "disk_full", "gpu_memory", "heap_memory", "heartbeat_lost", "metaspace",
    "python_memory",
})  # fmt: skip
# Failures of the executor itself. A node that leaves the cluster at the same time is not their cause.
_OWN_FAILURES = frozenset({
    "direct_memory", "disk_full", "gpu_memory", "heap_memory", "metaspace", "process_crashed", "python_memory",
})  # fmt: skip
# Failures that report only the loss of the executor, not its cause.
_UNSPECIFIC = frozenset({"unknown", "executor_lost"})


@dataclass(frozen=True)
class ExecutorRemoval:
    """The removal of one executor. Times are ms since the epoch; None means unknown.

    ``pod_cause`` is why Kubernetes ended its pod (`PodChanged.cause`); empty if that is unknown.
    """

    removed_ms: int
    added_ms: int | None = None
    reason: str | None = None
    exit_code: int | None = None
    pod_cause: str = ""


@dataclass(frozen=True)
class ExecutorLosses:
    """The executors of one application: the current and largest number, and the recent losses with their reasons."""

    present: int = 0
    peak: int = 0
    recent: tuple[tuple[int, str], ...] = ()


def executor_added(losses: ExecutorLosses) -> ExecutorLosses:
    """Return the state after an executor was added."""
    return replace(losses, present=losses.present + 1, peak=max(losses.peak, losses.present + 1))


def executor_removed(losses: ExecutorLosses, executor: ExecutorRemoval) -> tuple[ExecutorLosses, dict[str, Any]]:
    """Return the state after an executor was removed, and the columns of executor_loss for this removal.

    A removal on request is benign and is not counted as a loss. The columns are failure_kind, failure, lost_executors,
    peak_executors and lost_alike. The columns exit_code and lived_ms are added if they are known.
    """
    exit_code = executor.exit_code if executor.exit_code is not None else exit_code_of(executor.reason)
    failure = classify_removal(executor.reason, exit_code, executor.pod_cause)
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


def loss_explained(
    losses: ExecutorLosses, executor: ExecutorRemoval, counted_as: str
) -> tuple[ExecutorLosses, dict[str, Any]]:
    """Return the same as `executor_removed` for a removal that was counted as ``counted_as`` and now has a pod's cause.

    The removal replaces its earlier entry, so it is counted once.
    """
    recent = list(losses.recent)
    if (executor.removed_ms, counted_as) in recent:
        recent.remove((executor.removed_ms, counted_as))
    before = replace(losses, present=losses.present + 1, recent=tuple(recent))
    return executor_removed(before, executor)


def removed_with_application(ended_ms: int, removed_ms: int, failure: str) -> bool:
    """Return whether the executor was removed because the application ended at ``ended_ms``.

    Times are ms since the epoch. A removal up to a second before the end is attributed to the end too, unless
    ``failure`` can itself end an application.
    """
    return removed_ms >= ended_ms - (0 if failure in _ENDS_APPLICATIONS else CLOCK_SLACK_MS)


def classify_removal(reason: str | None, exit_code: int | None, pod_cause: str = "") -> Failure:
    """Return the failure class of a removal: from Spark's reason text, and if the text is unspecific, the exit code.

    What Kubernetes reports precedes both, unless Spark asked for the removal, or the executor failed by itself.
    """
    failure = classify(None, reason)
    if failure.reason in _UNSPECIFIC and (by_code := failure_of_exit_code(exit_code)):
        failure = by_code
    if pod_cause in pods.FAILURES and failure.kind != BENIGN and failure.reason not in _OWN_FAILURES:
        return pods.FAILURES[pod_cause]
    return failure
