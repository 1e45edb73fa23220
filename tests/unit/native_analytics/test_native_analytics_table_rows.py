"""Tests that the types for rows of an event log have the columns of the kernel's tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.event_logs import table_rows
from sparkfuse_native_analytics.event_logs.reading import LogTables, read_log

LOG = Path(__file__).parents[2] / "logs/real/queries-4-lz4"
ROWS: Mapping[str, type] = {
    "applications": table_rows.ApplicationRow,
    "jobs": table_rows.JobRow,
    "stages": table_rows.StageRow,
    "failures": table_rows.FailureRow,
    "executors": table_rows.ExecutorRow,
    "sql_executions": table_rows.SqlExecutionRow,
    "plan_nodes": table_rows.PlanNodeRow,
    "environment": table_rows.EnvironmentRow,
}


@pytest.fixture(scope="module")
def tables() -> LogTables:
    (log,) = find_logs(str(LOG)).logs
    return read_log(log)


@pytest.mark.parametrize("table", ROWS)
def test_row_type_has_the_columns_of_the_table(table: str, tables: LogTables) -> None:
    """A row type lists the columns of its table in their order."""
    assert list(ROWS[table].__annotations__) == tables.table(table).schema.names


@pytest.mark.parametrize("table", ROWS)
def test_column_with_nulls_is_declared_optional(table: str, tables: LogTables) -> None:
    """A column that is None in some row of the log is declared optional."""
    types = ROWS[table].__annotations__
    with_nulls = {name for name in types if tables.table(table)[name].null_count}

    assert with_nulls <= {name for name, declared in types.items() if "None" in str(declared)}


def test_evidence_type_has_the_keys_of_the_evidence(tables: LogTables) -> None:
    """The types of the evidence, and of a file in the evidence, have the keys that the kernel returns."""
    evidence = tables.evidence

    assert set(table_rows.LogEvidence.__annotations__) == set(evidence)
    assert set(table_rows.ReadFile.__annotations__) == set(evidence["files"][0])
