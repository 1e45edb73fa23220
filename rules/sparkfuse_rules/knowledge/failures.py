"""Classify failures by the error messages of Spark and other systems, for failure rules and decisions about retries.

The patterns, with their sources and examples, are in rules/failure_classes.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sparkfuse_contracts.assets import asset

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
BENIGN = "benign"
# The status of a job that did not succeed. QUERY_FAILED means that the query failed although the job itself did not.
FAILED, QUERY_FAILED, CANCELLED = "failed", "query_failed", "cancelled"
_ON_PURPOSE = frozenset({"cancelled", "context_stopped"})


@dataclass(frozen=True)
class FailurePattern:
    """One entry of failure_classes.yaml."""

    failure: Failure
    pattern: re.Pattern[str]
    source: str
    examples: tuple[str, ...]


@cache
def failure_patterns() -> Sequence[FailurePattern]:
    """Return the patterns in the order of the file. Raises ValueError for an invalid entry."""
    import yaml  # yaml is imported late, because an analysis without a failure does not need yaml

    entries = yaml.safe_load(asset("sparkfuse_rules", "failure_classes.yaml").read_text(encoding="utf-8"))
    return tuple(_failure_pattern(entry) for entry in entries)


def classify(failure_class: str | None, failure_reason: str | None) -> Failure:
    """Return the failure for a failure class and a text; UNKNOWN if no pattern matches.

    ``failure_class`` is Spark's end reason or the name of an exception. The first pattern that matches anywhere in the
    text is used, so the file lists specific patterns before general ones.
    """
    text = f"{failure_class or ''}: {failure_reason or ''}"[:MOST_CHARS]
    return next((entry.failure for entry in failure_patterns() if entry.pattern.search(text)), UNKNOWN)


def ended_on_purpose(failure: Failure) -> bool:
    """Return whether the failure means that a person cancelled the job or query, or stopped its Spark context."""
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
    pattern = re.compile(str(entry["pattern"]))
    return FailurePattern(Failure(kind, reason, retry), pattern, str(entry["source"]), tuple(map(str, examples)))
