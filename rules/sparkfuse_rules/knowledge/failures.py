"""Classify failures by the error messages of Spark and other systems, for failure rules and decisions about retries.

The patterns, with their sources and examples, are in rules/failure_classes.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated import executor_exit_codes
from sparkfuse_rules.knowledge.first_cause import first_cause, without_frames

KINDS = ("infrastructure", "configuration", "data", "user_code", "benign", "unknown")
RETRIES = ("transient", "larger", "never", "unknown")
# Collectors truncate messages to this length. Of longer messages from other sources, only this part is searched.
MOST_CHARS = 4096


@dataclass(frozen=True)
class Failure:
    """A failure class: ``kind`` is who can fix it, ``reason`` what happened, ``retry`` whether a retry can succeed."""

    kind: str
    reason: str
    retry: str


UNKNOWN = Failure("unknown", "unknown", "unknown")
BENIGN, NEVER = "benign", "never"
# The status of a job that did not succeed. QUERY_FAILED means that the query failed although the job itself did not.
FAILED, QUERY_FAILED, CANCELLED = "failed", "query_failed", "cancelled"
_ON_PURPOSE = frozenset({"cancelled"})
_EXIT_CODE = re.compile(executor_exit_codes.PATTERN, re.ASCII)
# Exit codes of Spark (SparkExitCode, ExecutorExitCode) and of signals. The kernel's OOM killer and many other programs
# send signal 9, so that code 137 alone does not show whether a retry can succeed.
_BY_EXIT_CODE = {
    52: Failure("configuration", "heap_memory", "larger"),
    53: Failure("infrastructure", "disk_full", "transient"),
    56: Failure("infrastructure", "heartbeat_lost", "transient"),
    134: Failure("infrastructure", "process_crashed", "transient"),
    137: Failure("infrastructure", "process_killed", "unknown"),
    139: Failure("infrastructure", "process_crashed", "transient"),
    143: Failure("infrastructure", "process_killed", "transient"),
}
_EXECUTOR_LOST = "executor_lost"


@dataclass(frozen=True)
class FailurePattern:
    """One entry of failure_classes.yaml. ``frames``: the pattern is also searched in the stack frames."""

    failure: Failure
    pattern: re.Pattern[str]
    source: str
    examples: tuple[str, ...]
    frames: bool = False

    def matches(self, text: str, exceptions: str, cause: str) -> bool:
        """Return whether the pattern matches a text, its exceptions without frames, or its innermost exception.

        Only the innermost exception can show that a retry never succeeds. An outer exception, such as the one of a
        function that calls a service, may wrap any failure.
        """
        searched = cause if self.failure.retry == NEVER else text if self.frames else exceptions
        return self.pattern.search(searched) is not None


@cache
def failure_patterns() -> Sequence[FailurePattern]:
    """Return the patterns in the order of the file. Raises ValueError for an invalid entry."""
    import yaml  # yaml is imported late, because an analysis without a failure does not need yaml

    entries = yaml.safe_load(asset("sparkfuse_rules", "failure_classes.yaml").read_text(encoding="utf-8"))
    return tuple(_failure_pattern(entry) for entry in entries)


def classify(failure_class: str | None, failure_reason: str | None) -> Failure:
    """Return the failure for a failure class and a text; UNKNOWN if no pattern matches.

    ``failure_class`` is Spark's end reason or the name of an exception. The first pattern that matches is used, so the
    file lists specific patterns before general ones. Stack frames decide nothing, except for patterns that ask for
    them.
    """
    text = f"{failure_class or ''}: {failure_reason or ''}"[:MOST_CHARS]
    exceptions, cause = without_frames(text), first_cause(text) or ""
    found = next((each.failure for each in failure_patterns() if each.matches(text, exceptions, cause)), UNKNOWN)
    by_code = failure_of_exit_code(exit_code_of(text)) if found.reason == _EXECUTOR_LOST else None
    return by_code or found


def failure_of_exit_code(exit_code: int | None) -> Failure | None:
    """Return the failure that the exit code of an executor shows; None if the code does not name a failure."""
    return _BY_EXIT_CODE.get(exit_code) if exit_code is not None else None


def exit_code_of(reason: str | None) -> int | None:
    """Return the exit code that Spark's reason names, or None (cases: contracts/shared/executor_exit_codes.yaml)."""
    found = _EXIT_CODE.search((reason or "")[: executor_exit_codes.MOST_CHARS])
    return int(found[1]) if found else None


def ended_on_purpose(failure: Failure) -> bool:
    """Return whether the failure means that a person cancelled the job or query."""
    return failure.reason in _ON_PURPOSE


def as_harmful(failure: Failure) -> Failure:
    """Return the failure of a job that nobody cancelled; its kind is never benign.

    Some failures are benign for a task, but such a failure has made this job fail.
    """
    return Failure("infrastructure", failure.reason, failure.retry) if failure.kind == BENIGN else failure


def _failure_pattern(entry: dict[str, object]) -> FailurePattern:
    kind, reason, retry = (str(entry[key]) for key in ("kind", "reason", "retry"))
    examples = entry["examples"]
    if kind not in KINDS or retry not in RETRIES or not isinstance(examples, list) or not examples:
        raise ValueError(f"failure_classes.yaml: {reason}: invalid kind, retry or examples")
    return FailurePattern(
        Failure(kind, reason, retry),
        re.compile(str(entry["pattern"])),
        str(entry["source"]),
        tuple(map(str, examples)),
        bool(entry.get("frames", False)),
    )
