"""Tests how the work of a stage or an application is measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.work import BYTES, RECORDS, ROWS, Work, operator_rows, work_of

amounts = st.none() | st.integers(min_value=0, max_value=2**62)


@pytest.mark.parametrize(
    ("stage", "measures"),
    [
        pytest.param(
            {"work_bytes": 9, "work_records": 5, "operator_rows_max": 8}, {BYTES, RECORDS}, id="bytes and records"
        ),
        pytest.param({"work_bytes": 9, "work_records": 0, "operator_rows_max": 8}, {BYTES}, id="bytes only"),
        pytest.param({"work_bytes": 0, "work_records": 5, "operator_rows_max": 8}, {RECORDS}, id="records only"),
        pytest.param({"work_bytes": 0, "work_records": 0, "operator_rows_max": 8}, {ROWS}, id="nothing read"),
        pytest.param({"operator_rows_max": 8}, {ROWS}, id="input not reported"),
        pytest.param({"work_bytes": 0, "work_records": 0}, set(), id="no SQL plan"),
        pytest.param({"work_bytes": 0, "work_records": 0, "operator_rows_max": 0}, set(), id="no rows"),
        pytest.param({}, set(), id="nothing reported"),
    ],
)
def test_stage_work_is_input_or_operator_rows(stage, measures):
    """Operator rows are used as the work of a stage only if the stage reported neither bytes nor records."""
    assert set(work_of(stage).sizes()) == measures


def test_application_work_is_input_plus_operator_rows():
    """The work of an application is the records of stages with input plus the operator rows of other stages."""
    work = work_of({"work_bytes": 4_000, "work_records": 300, "operator_rows": 700})

    assert {name: round(math.exp(size)) for name, size in work.sizes().items()} == {
        BYTES: 4_000, RECORDS: 300, ROWS: 1_000,
    }  # fmt: skip


def test_application_with_input_only_has_no_rows():
    """If the input of an application has records, operator rows are not added.

    Otherwise the same records would be counted twice.
    """
    assert set(work_of({"work_bytes": 4_000, "work_records": 300}).sizes()) == {BYTES, RECORDS}


@given(amounts, amounts, amounts)
def test_stage_with_input_has_no_operator_rows(read, records, rows):
    """For any numbers, operator rows are used only if the stage read nothing."""
    actual = operator_rows({"work_bytes": read, "work_records": records, "operator_rows_max": rows})

    assert actual == (None if read or records or not rows else rows)


@given(amounts, amounts, amounts, amounts)
def test_more_work_is_never_less(read, records, rows, more):
    """If an amount of input or output grows, no measure of work falls."""
    least, most = Work(read, records, rows), Work(*((each or 0) + (more or 0) for each in (read, records, rows)))

    assert all(size <= most.sizes()[measure] for measure, size in least.sizes().items())
