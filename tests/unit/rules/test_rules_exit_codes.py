"""Tests that the exit code of a lost executor is read from Spark's reason, live and offline."""

from __future__ import annotations

import json

import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.knowledge.executor_losses import (
    ExecutorLosses,
    ExecutorRemoval,
    classify_removal,
    executor_removed,
)
from sparkfuse_rules.knowledge.failures import exit_code_of

CASES = json.loads(asset("sparkfuse_contracts", "generated", "shared", "executor_exit_codes.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_exit_code_of_reason(case) -> None:
    """The exit code equals the exit code of the shared case."""
    assert exit_code_of(case["reason"]) == case["exit_code"]


@pytest.mark.parametrize("case", [case for case in CASES if case["failure"]], ids=lambda case: case["name"])
def test_loss_is_named_by_its_exit_code(case) -> None:
    """If Spark's reason contains only an exit code, the exit code determines the failure class."""
    assert classify_removal(case["reason"], case["exit_code"]).reason == case["failure"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reason_alone_gives_the_same_columns_as_reason_and_code(case) -> None:
    """The live and the offline row of a lost executor have equal columns.

    Live, the fact has the exit code; offline, the log has only the reason.
    """
    live = ExecutorRemoval(1_000, 0, case["reason"], case["exit_code"])
    offline = ExecutorRemoval(1_000, 0, case["reason"])

    assert executor_removed(ExecutorLosses(), live) == executor_removed(ExecutorLosses(), offline)
