"""What a failure is of, on texts as Spark 2.4 to 4.x writes them."""

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
    """Class and reason of an example, which is written as the pattern sees it."""
    failure_class, _, reason = example.partition(": ")
    return failure_class, reason


@pytest.mark.parametrize(("expected", "example"), EXAMPLES)
def test_each_text_is_known_for_what_it_is(expected: Failure, example: str) -> None:
    """No earlier entry takes it away."""
    assert classify(*split(example)) == expected


@pytest.mark.parametrize(("expected", "example"), EXAMPLES)
def test_the_same_text_within_a_failed_job_is_known_too(expected: Failure, example: str) -> None:
    """Spark wraps the last task's failure into the job's."""
    wrapped = (
        "Job aborted due to stage failure: Task 3 in stage 7.0 failed 4 times, most recent failure: "
        f"Lost task 3.3 in stage 7.0 (TID 1055) (worker-3 executor 3): {example}\n\nDriver stacktrace:"
    )

    assert classify("org.apache.spark.SparkException", wrapped) == expected


def test_reasons_are_once_and_words_are_known() -> None:
    """A reason is a name that rules and people use."""
    reasons = [known.failure.reason for known in failure_patterns()]

    assert len(reasons) == len(set(reasons))
    assert {known.failure.kind for known in failure_patterns()} <= set(KINDS)
    assert {known.failure.retry for known in failure_patterns()} <= set(RETRIES)
    assert all(known.source for known in failure_patterns())


@pytest.mark.parametrize(("failure_class", "reason"), [(None, None), ("", ""), ("Success", ""), ("x", "y")])
def test_what_nobody_knows_is_unknown(failure_class: str | None, reason: str | None) -> None:
    """Not a guess."""
    assert classify(failure_class, reason) == UNKNOWN


@given(st.text(max_size=300), st.text(max_size=20_000))
def test_any_text_has_an_answer(failure_class: str, reason: str) -> None:
    """Whatever users throw."""
    assert classify(failure_class, reason).kind in KINDS
