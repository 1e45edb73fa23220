"""Tests the classification of failures, with failure texts from Spark 2.4 to 4.x."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.failure_accuracy import COLLECTED, HELD_OUT, FailureCase, accuracy, failure_cases
from sparkfuse_rules.knowledge.failures import KINDS, NEVER, RETRIES, UNKNOWN, Failure, classify, failure_patterns

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


REAL = [
    pytest.param(case, id=f"{case.failure}-{number}") for number, case in enumerate(failure_cases(COLLECTED), start=1)
]


@pytest.mark.parametrize("case", REAL)
def test_real_failure_is_classified_as_by_a_person(case: FailureCase) -> None:
    """The text of a real failure has the class and the retry decision that a person chose from its thread."""
    found = case.found()

    assert (found.reason, found.retry) == (case.failure, case.retry)


def test_held_out_failures_are_decided_as_published() -> None:
    """At least 40% of the held-out texts have the right retry decision, and few have a wrong one."""
    of = accuracy(failure_cases(HELD_OUT))

    assert of.right_decision >= 0.4 * of.cases
    assert of.wrong_decision <= 0.1 * of.cases


def test_no_failure_of_the_infrastructure_is_never_retried() -> None:
    """No real failure that a retry or more memory can repair is classified as one that never succeeds."""
    repairable = [
        case for part in (COLLECTED, HELD_OUT) for case in failure_cases(part) if case.retry in ("transient", "larger")
    ]

    assert [case.link for case in repairable if case.found().retry == NEVER] == []


def test_cases_are_large_and_separate_parts() -> None:
    """At least 150 collected and 40 held-out texts have a link and a cause, and no text is in both parts."""
    collected, held_out = failure_cases(COLLECTED), failure_cases(HELD_OUT)

    assert len(collected) >= 150
    assert len(held_out) >= 40
    assert all(case.link.startswith("https://") and case.cause for case in (*collected, *held_out))
    assert not {case.text for case in collected} & {case.text for case in held_out}


INNER = "java.net.ConnectException: Connection refused (Connection refused)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"java.lang.NullPointerException: x\nCaused by: {INNER}", "network", id="a wrapper"),
        pytest.param(f"{INNER}\n\tat com.acme.NullPointerException.of(A.java:1)", "network", id="a frame"),
        pytest.param(
            "com.acme.LoadException: no answer\n\tat org.apache.spark.sql.AnalysisException.x(A.scala:1)",
            "unknown",
            id="only a frame",
        ),
        pytest.param("com.acme.LoadException: got a 3", "unknown", id="an exception of the program"),
        pytest.param("java.lang.RuntimeException: got a 3", "unknown", id="a general exception"),
        pytest.param("ExecutorLostFailure (executor 1 exited) Reason: Command exited with code 137", "process_killed",
                     id="an exit code"),
    ],
)  # fmt: skip
def test_only_the_innermost_exception_decides_never(text: str, expected: str) -> None:
    """A class in a stack frame or in an outer exception does not decide that a retry never succeeds."""
    assert classify(None, text).reason == expected
