"""How much a stage or an application had to do, and what its time is held against."""

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
        pytest.param({"work_bytes": 9, "work_records": 5, "operator_rows_max": 8}, {BYTES, RECORDS}, id="read"),
        pytest.param({"work_bytes": 9, "work_records": 0, "operator_rows_max": 8}, {BYTES}, id="bytes only"),
        pytest.param({"work_bytes": 0, "work_records": 5, "operator_rows_max": 8}, {RECORDS}, id="records only"),
        pytest.param({"work_bytes": 0, "work_records": 0, "operator_rows_max": 8}, {ROWS}, id="nothing read"),
        pytest.param({"operator_rows_max": 8}, {ROWS}, id="reads not told"),
        pytest.param({"work_bytes": 0, "work_records": 0}, set(), id="no SQL plan"),
        pytest.param({"work_bytes": 0, "work_records": 0, "operator_rows_max": 0}, set(), id="no rows"),
        pytest.param({}, set(), id="nothing told"),
    ],
)
def test_a_stage_is_measured_by_what_it_read_else_by_its_rows(stage, measures):
    """Rows stand in where neither bytes nor records were reported, and only there."""
    assert set(work_of(stage).sizes()) == measures


def test_an_application_is_measured_by_what_was_read_and_by_the_rows_of_the_stages_that_read_nothing():
    """Stages that read report records, those that do not rows; only their sum grows with both."""
    work = work_of({"work_bytes": 4_000, "work_records": 300, "operator_rows": 700})

    assert {name: round(math.exp(size)) for name, size in work.sizes().items()} == {
        BYTES: 4_000, RECORDS: 300, ROWS: 1_000,
    }  # fmt: skip


def test_an_application_without_such_stages_has_no_rows():
    """Then they would say what records say already."""
    assert set(work_of({"work_bytes": 4_000, "work_records": 300}).sizes()) == {BYTES, RECORDS}


@given(amounts, amounts, amounts)
def test_a_stage_that_read_anything_is_never_measured_by_its_rows(read, records, rows):
    """For any numbers: rows count exactly where nothing was read."""
    told = operator_rows({"work_bytes": read, "work_records": records, "operator_rows_max": rows})

    assert told == (None if read or records or not rows else rows)


@given(amounts, amounts, amounts, amounts)
def test_more_work_is_never_less(read, records, rows, more):
    """Each measure rises with its amounts."""
    least, most = Work(read, records, rows), Work(*((each or 0) + (more or 0) for each in (read, records, rows)))

    assert all(size <= most.sizes()[measure] for measure, size in least.sizes().items())
