"""Tests training samples and the columns with expected values."""

from dataclasses import replace

import pytest

from sparkfuse_rules.knowledge.baseline_model import Expectation, Sample
from sparkfuse_rules.knowledge.training_samples import (
    application_sample,
    capped_severity,
    ended_well,
    expected_columns,
    stage_sample,
)

STAGE = {
    "status": "succeeded",
    "stage_attempt": 0,
    "elapsed_ms": 900,
    "finished_cpu_ms": 700,
    "work_bytes": 10,
    "work_records": 2,
    "num_tasks": 100,
    "succeeded_tasks": 99,
    "disk_spilled_bytes": 40,
}
LEARNED = Sample("run", 5, 900, 700, 10, 2, 100, disk_spilled_bytes=40)


@pytest.mark.parametrize(
    ("change", "completeness", "expected"),
    [
        pytest.param({}, 0.99, LEARNED, id="succeeded with 99 of 100 tasks"),
        pytest.param({"succeeded_tasks": 98}, 1.0, None, id="tasks are missing"),
        pytest.param({}, 0.98, None, id="facts are missing"),
        pytest.param({"operator_rows_max": 7}, 1.0, LEARNED, id="rows count only without input"),
        pytest.param(
            {"work_bytes": 0, "work_records": 0, "operator_rows_max": 7},
            1.0,
            replace(LEARNED, work_bytes=0, work_records=0, operator_rows=7),
            id="no input, so rows are the work",
        ),
        pytest.param({"stage_attempt": 1}, 1.0, None, id="a later attempt runs a part of the tasks"),
        pytest.param({"status": "failed"}, 1.0, None, id="failed"),
        pytest.param({"status": "running"}, 1.0, None, id="no end"),
        pytest.param({"elapsed_ms": None}, 1.0, None, id="no duration"),
    ],
)
def test_stage_sample_requires_a_complete_success(change, completeness, expected):
    """Only a successful first attempt of a stage with complete evidence is a sample."""
    assert stage_sample("run", completeness, {**STAGE, **change}, learned_ms=5) == expected


def test_application_sample_requires_success():
    """An application is a sample only if no job failed and its evidence is complete."""
    application = {
        "status": "succeeded", "elapsed_ms": 900, "finished_cpu_ms": 700, "work_bytes": 10, "disk_spilled_bytes": 40,
    }  # fmt: skip

    assert application_sample("run", 1.0, application, 5) == Sample("run", 5, 900, 700, 10, None, None)
    assert application_sample("run", 1.0, {**application, "operator_rows": 6}, 5).operator_rows == 6
    assert application_sample("run", 0.98, application) is None
    assert application_sample("run", 1.0, {**application, "status": "failed"}) is None
    assert application_sample("run", 1.0, {**application, "status": "running"}) is None


def test_failed_job_or_stage_is_no_success():
    """An application with a failed job or stage is not successful; an absent number of failures is read as 0."""
    assert [ended_well(0, 0), ended_well(None, 0), ended_well(1, 0), ended_well(0, 1)] == [True, True, False, False]


def test_expectation_is_converted_to_columns():
    """The columns of an expectation are the expected values and `moved`.

    The CPU columns exist only if CPU time is known.
    """
    expected = Expectation(7, 100, 150, None, None, True, "rows")

    assert expected_columns(expected, 200, 80) == {
        "baseline_runs": 7,
        "expected_ms": 100,
        "expected_p95_ms": 150,
        "work_known": True,
        "work_measure": "rows",
        "moved": "wall",
    }


def test_incomplete_evidence_is_never_critical():
    """If completeness is below 0.99, the severity critical becomes warning; lower severities do not change."""
    assert [capped_severity("critical", 0.99), capped_severity("critical", 0.989), capped_severity("info", 0.0)] == [
        "critical",
        "warning",
        "info",
    ]
