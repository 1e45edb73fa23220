"""What a failure is of, by Spark's own texts: the base of the rules about failures and of the decision to retry.

The table is rules/failure_classes.yaml; sources and real texts stand beside each pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sparkfuse_contracts.assets import asset

KINDS = ("infrastructure", "configuration", "data", "user_code", "benign", "unknown")
RETRIES = ("transient", "larger", "never", "unknown")
# Texts are capped by collectors; patterns look at no more than this of what did not come from one.
MOST_CHARS = 4096


@dataclass(frozen=True)
class Failure:
    """``kind`` is whose fault it is, ``reason`` what happened, ``retry`` whether the same again may do."""

    kind: str
    reason: str
    retry: str


UNKNOWN = Failure("unknown", "unknown", "unknown")
BENIGN = "benign"
# The status of a job that did not succeed; QUERY_FAILED: its query failed although the job itself did not.
FAILED, QUERY_FAILED, CANCELLED = "failed", "query_failed", "cancelled"
_ON_PURPOSE = frozenset({"cancelled", "context_stopped"})


@dataclass(frozen=True)
class FailurePattern:
    """One entry of the table."""

    failure: Failure
    pattern: re.Pattern[str]
    source: str
    examples: tuple[str, ...]


@cache
def failure_patterns() -> Sequence[FailurePattern]:
    """The table, in its order. Raises ValueError for an entry that cannot be used, with its reason."""
    import yaml  # only who meets a failure pays for it

    entries = yaml.safe_load(asset("sparkfuse_rules", "failure_classes.yaml").read_text(encoding="utf-8"))
    return tuple(_known(entry) for entry in entries)


def classify(failure_class: str | None, failure_reason: str | None) -> Failure:
    """What failed, from the class (Spark's end reason or the exception's) and the text; UNKNOWN when nothing knows it.

    Of texts that wrap another the first entry of the table that is found anywhere in it decides: the table has the
    particular before the general.
    """
    text = f"{failure_class or ''}: {failure_reason or ''}"[:MOST_CHARS]
    return next((known.failure for known in failure_patterns() if known.pattern.search(text)), UNKNOWN)


def ended_on_purpose(failure: Failure) -> bool:
    """Return whether the failure means that somebody cancelled the job or query, or stopped its context."""
    return failure.reason in _ON_PURPOSE


def as_harmful(failure: Failure) -> Failure:
    """Return the failure of a job that was not cancelled: a kind that is benign for a task has failed this job."""
    return Failure("infrastructure", failure.reason, failure.retry) if failure.kind == BENIGN else failure


def _known(entry: dict[str, object]) -> FailurePattern:
    kind, reason, retry = (str(entry[key]) for key in ("kind", "reason", "retry"))
    examples = entry["examples"]
    if kind not in KINDS or retry not in RETRIES or not isinstance(examples, list) or not examples:
        raise ValueError(f"failure_classes.yaml: {reason}: kind, retry or examples cannot be used")
    pattern = re.compile(str(entry["pattern"]))
    return FailurePattern(Failure(kind, reason, retry), pattern, str(entry["source"]), tuple(map(str, examples)))
