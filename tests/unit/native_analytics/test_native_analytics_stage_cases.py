"""Tests the offline row of a stage with the shared cases; test_stream_jobs_windows.py runs the same cases live."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_contracts.columns import view_specs
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import read_application
from sparkfuse_native_analytics.offline.failure_rows import failure_rows
from tests.stage_cases import CASES, FAILURE_COLUMNS, Case, compared, event_log, expected_columns

# Cases with equal tasks or failures, whose offline and live rows differ: offline, the order of the log decides between
# equal ones; live, there is no such order.
WITH_TIES = {
    "the longer of two equally big tasks is the biggest",
    "the lower index of two equal tasks",
    "spill",
    "the failure that ended last is reported",
    "speculative copies and killed attempts",
    "a task that ran again because its output was lost",
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["name"] not in WITH_TIES], ids=lambda case: case["name"]
)
def test_offline_stage_row_has_the_shared_columns(case: Case, tmp_path: Path) -> None:
    """Each column of the offline row, except those of baselines and names, has the value of the shared case."""
    (tmp_path / "log").write_text("".join(f"{line}\n" for line in event_log(case)))
    (log,) = find_logs(str(tmp_path / "log")).logs
    application = read_application(log)
    (row,) = application.stage_rows.to_pylist()
    failures = [[each.get(name) for name in FAILURE_COLUMNS] for each in failure_rows(application)]

    assert {name: row[name] for name in compared() if row[name] is not None} == expected_columns(case)
    assert sorted(failures) == sorted(case.get("failures", []))


def test_cases_are_about_all_columns_known_offline_and_live() -> None:
    """Each column that is computed both live and offline has a value in at least one shared case.

    The other columns are excluded, because the shared cases contain no SQL query and no accumulators of stages.
    """
    found = {name for case in CASES for name in case["expected"]}

    assert set(compared()) - found == {"sql_execution_id", "operator_rows_max", "result_bytes"}
    assert set(compared()) <= set(view_specs()["stage_live"].columns)
