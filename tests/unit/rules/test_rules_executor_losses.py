"""Tests the reasons and counts of executor losses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.executor_losses import (
    WINDOW_MS,
    ExecutorLosses,
    ExecutorRemoval,
    classify_removal,
    executor_added,
    executor_removed,
)
from sparkfuse_rules.knowledge.failures import exit_code_of
from sparkfuse_rules.knowledge.plan_operators import runs_python


def of(executors: int) -> ExecutorLosses:
    losses = ExecutorLosses()
    for _ in range(executors):
        losses = executor_added(losses)
    return losses


@pytest.mark.parametrize(
    ("reason", "kind", "failure", "exit_code"),
    [
        ("Executor killed by driver.", "benign", "scaled_down", None),
        ("Executor decommission.", "benign", "scaled_down", None),
        ("Command exited with code 137", "infrastructure", "process_killed", 137),
        ("Command exited with code 52", "configuration", "heap_memory", 52),
        ("Container from a bad node: container_1 on host: w. Exit status: 134.", "infrastructure", "node_lost", 134),
        ("Executor heartbeat timed out after 156327 ms", "infrastructure", "heartbeat_lost", None),
        ("worker lost: worker-20261121 on 10.0.0.3:7078", "infrastructure", "node_lost", None),
        (
            "\nThe executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).\n",
            "configuration", "container_memory", 137,
        ),
        ("the moon fell down", "unknown", "unknown", None),
        (None, "unknown", "unknown", None),
    ],
)  # fmt: skip
def test_removal_is_classified(reason: str | None, kind: str, failure: str, exit_code: int | None) -> None:
    """A loss is classified by Spark's text, or by the exit code if the text is not specific."""
    _, columns = executor_removed(of(2), ExecutorRemoval(removed_ms=1_000, reason=reason))

    assert (columns["failure_kind"], columns["failure"], columns.get("exit_code")) == (kind, failure, exit_code)


def test_losses_count_for_ten_minutes_by_reason() -> None:
    """Losses of executors are counted by reason for ten minutes.

    Executors that were removed on request are not counted.
    """
    losses = of(4)
    losses, _ = executor_removed(losses, ExecutorRemoval(0, 0, "Command exited with code 52"))
    losses, _ = executor_removed(losses, ExecutorRemoval(1_000, 0, "Executor killed by driver."))
    losses, second = executor_removed(losses, ExecutorRemoval(2_000, 500, "Command exited with code 137"))
    _, third = executor_removed(losses, ExecutorRemoval(WINDOW_MS + 1, None, "Command exited with code 137"))

    assert (second["lost_executors"], second["lost_alike"], second["peak_executors"]) == (2, 1, 4)
    assert second["lived_ms"] == 1_500
    assert (third["lost_executors"], third["lost_alike"]) == (2, 2)
    assert "lived_ms" not in third


def test_peak_counts_concurrent_executors() -> None:
    """The peak is the largest number of executors at one time, so a replaced executor does not raise the peak."""
    losses = of(3)
    for _ in range(5):
        losses, columns = executor_removed(losses, ExecutorRemoval(1_000, 0, "preempted"))
        losses = executor_added(losses)

    assert columns["peak_executors"] == 3


@given(st.lists(st.tuples(st.integers(0, 10**13), st.text(max_size=60), st.integers(-(2**31), 2**31 - 1)), max_size=30))
def test_any_order_and_text_is_accepted(removals: list[tuple[int, str, int]]) -> None:
    """Any order of times, any unknown executor and any text is accepted without an error."""
    losses = ExecutorLosses()
    for removed_ms, reason, exit_code in removals:
        losses, columns = executor_removed(losses, ExecutorRemoval(removed_ms, None, reason, exit_code))
        assert columns["lost_alike"] <= columns["lost_executors"]
        assert columns["peak_executors"] >= 1


def test_exit_codes_are_read_from_texts() -> None:
    """The exit code is read from the texts that YARN, Kubernetes and the standalone worker write."""
    assert exit_code_of("Exit status: -100. Diagnostics: Container released on a *lost* node") == -100
    assert exit_code_of("The executor with id 1 exited with exit code 143(SIGTERM)") == 143
    assert exit_code_of("no code") is None
    assert classify_removal("Executor Process Lost", 134).reason == "process_crashed"


@pytest.mark.parametrize(
    ("scopes", "plan", "expected"),
    [
        (["WholeStageCodegen (1)", "ArrowEvalPython"], [], True),
        (["BatchEvalPython"], [], True),
        (["FlatMapGroupsInPandas", "Exchange"], [], True),
        (["WholeStageCodegen (1)", "Scan parquet python_events"], ["ArrowEvalPython [f(x)]"], False),
        (["Scan ExistingRDD(PythonTable)"], [], False),
        ([], ["Project", "MapInArrow f(x)"], True),
        ([], [], False),
    ],
)
def test_python_operators_are_recognised(scopes: list[str], plan: list[str], expected: bool) -> None:
    """Python is recognised by the operators of the stage, or of the query if those of the stage are unknown."""
    assert runs_python(scopes, plan) is expected
