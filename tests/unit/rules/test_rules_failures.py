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
    """At least 60% of the held-out texts have the right retry decision, and few have a wrong one."""
    of = accuracy(failure_cases(HELD_OUT))

    assert of.right_decision >= 0.6 * of.cases
    assert of.wrong_decision <= 0.1 * of.cases


def test_no_failure_of_the_infrastructure_is_never_retried() -> None:
    """No real failure that a retry or more memory can repair is classified as one that never succeeds."""
    repairable = [
        case for part in (COLLECTED, HELD_OUT) for case in failure_cases(part) if case.retry in ("transient", "larger")
    ]

    assert [case.link for case in repairable if case.found().retry == NEVER] == []


def test_cases_are_large_and_separate_parts() -> None:
    """At least 300 collected and 60 held-out texts have a link and a cause, and no text is in both parts."""
    collected, held_out = failure_cases(COLLECTED), failure_cases(HELD_OUT)

    assert len(collected) >= 300
    assert len(held_out) >= 60
    assert all(case.link.startswith("https://") and case.cause for case in (*collected, *held_out))
    assert not {case.text for case in collected} & {case.text for case in held_out}


@pytest.mark.parametrize(
    ("text", "reason", "retry"),
    [
        ("[NEW_CONDITION] Text. SQLSTATE: 42K99", "sql_invalid", "never"),
        ("[NEW_CONDITION] Text. SQLSTATE: 0A000", "sql_invalid", "never"),
        ("[NEW_CONDITION] Text. SQLSTATE: 22KD9", "bad_value", "never"),
        ("com.acme.DriverError: no. SQLSTATE=23502", "bad_value", "never"),
        ("com.acme.DriverError: no. SQLState: 08S01", "database_unavailable", "transient"),
        ("com.acme.DriverError: no. SQLSTATE(40001)", "database_unavailable", "transient"),
        ("com.acme.DriverError: no. SQL state [53300]", "database_unavailable", "transient"),
        ("com.acme.DriverError: no. SQLSTATE: 57P03", "database_unavailable", "transient"),
        ("com.acme.DriverError: no. SQLSTATE: 28P01", "permission", "never"),
        ("com.acme.DriverError: no. SQLSTATE: 42501", "permission", "never"),
        ("com.acme.DriverError: no. SQLSTATE: 54000", "message_too_large", "never"),
        ("[TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030", "unknown", "unknown"),
        ("com.acme.HttpError: HTTP/1.1 503", "service_unavailable", "transient"),
        ("com.acme.HttpError: status code: 429", "throttled", "transient"),
        ("com.acme.HttpError: status: 403", "permission", "never"),
        ("io.grpc.StatusRuntimeException: INVALID_ARGUMENT: no", "configuration_invalid", "never"),
        ("io.grpc.StatusRuntimeException: PERMISSION_DENIED: no", "permission", "never"),
        ("io.grpc.StatusRuntimeException: INTERNAL: no", "unknown", "unknown"),
    ],
)
def test_general_key_classifies_an_unseen_text(text: str, reason: str, retry: str) -> None:
    """A SQLSTATE, a gRPC status or an HTTP status classifies a text of an unknown system."""
    found = classify(None, text)

    assert (found.reason, found.retry) == (reason, retry)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("java.sql.SQLException: ORA-12899: value too large for column", "bad_value"),
        ("org.apache.thrift.transport.TTransportException: Peer indicated failure: GSS initiate failed", "permission"),
        ("AnalysisException: org.apache.hadoop.hive.ql.metadata.HiveException: no answer", "unknown"),
        ("[INTERNAL_ERROR] The phase planning failed with an internal error. SQLSTATE: XX000", "unknown"),
        ("Container from a bad node: container_1 on host: w. Exit status: 1. Diagnostics: no", "unknown"),
        ("java.lang.IllegalArgumentException: Self-suppression not permitted", "unknown"),
    ],
)
def test_wrapper_of_other_failures_decides_nothing(text: str, reason: str) -> None:
    """A name that also occurs in texts of other failures makes no failure transient or final."""
    assert classify(None, text).reason == reason


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
