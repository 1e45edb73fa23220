"""Tests the classification of failures, with failure texts from Spark 2.4 to 4.x."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.failures import KINDS, RETRIES, UNKNOWN, Failure, classify, failure_patterns

EXAMPLES = [
    pytest.param(known.failure, example, id=f"{known.failure.reason}-{number}")
    for known in failure_patterns()
    for number, example in enumerate(known.examples)
]


def split(example: str) -> tuple[str, str]:
    """Return the failure class and the reason of an example."""
    failure_class, _, reason = example.partition(": ")
    return failure_class, reason


@pytest.mark.parametrize(("expected", "example"), EXAMPLES)
def test_example_matches_its_own_pattern(expected: Failure, example: str) -> None:
    """The example of each reason matches the pattern of this reason and no earlier pattern."""
    assert classify(*split(example)) == expected


@pytest.mark.parametrize(("expected", "example"), EXAMPLES)
def test_example_within_a_failed_job_is_classified(expected: Failure, example: str) -> None:
    """If Spark wraps an example into the text of a failed job, the failure class is still the same."""
    wrapped = (
        "Job aborted due to stage failure: Task 3 in stage 7.0 failed 4 times, most recent failure: "
        f"Lost task 3.3 in stage 7.0 (TID 1055) (worker-3 executor 3): {example}\n\nDriver stacktrace:"
    )

    assert classify("org.apache.spark.SparkException", wrapped) == expected


def test_reasons_are_unique_and_kinds_are_valid() -> None:
    """Each reason has a unique name, because rules and people refer to the name, and a valid failure class."""
    reasons = [known.failure.reason for known in failure_patterns()]

    assert len(reasons) == len(set(reasons))
    assert {known.failure.kind for known in failure_patterns()} <= set(KINDS)
    assert {known.failure.retry for known in failure_patterns()} <= set(RETRIES)
    assert all(known.source for known in failure_patterns())


@pytest.mark.parametrize(("failure_class", "reason"), [(None, None), ("", ""), ("Success", ""), ("x", "y")])
def test_unmatched_text_is_unknown(failure_class: str | None, reason: str | None) -> None:
    """A text that matches no pattern is classified as unknown."""
    assert classify(failure_class, reason) == UNKNOWN


@given(st.text(max_size=300), st.text(max_size=20_000))
def test_any_text_is_classified(failure_class: str, reason: str) -> None:
    """Any text is classified without an error."""
    assert classify(failure_class, reason).kind in KINDS
