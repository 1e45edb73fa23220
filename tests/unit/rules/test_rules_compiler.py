"""Tests the compilation of predicates to SQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import columns, decidable, severity_sql, undecidable_columns, when_sql

CATALOG = load_catalog()
SPILL = CATALOG["stage_runaway_spill"]


@pytest.mark.parametrize(
    ("dialect", "prefix", "expected"),
    [
        ("flink", "", "`name`"), ("flink", "stage", "`stage`.`name`"),
        ("datafusion", "", '"name"'), ("datafusion", "stage", "\"stage\"['name']"),
        ("clickhouse", "", '"name"'), ("clickhouse", "stage", '"stage"."name"'),
    ],
)  # fmt: skip
def test_columns_are_quoted_and_prefixed(dialect, prefix, expected):
    """Columns with reserved words as names and columns of nested rows can be queried in each SQL engine."""
    sql = when_sql(replace(SPILL, when="name = 'x'"), dialect, prefix)

    assert f"({expected} = 'x')" == sql


def test_division_is_of_doubles_and_never_by_zero():
    """In each SQL engine, 7 / 2 is 3.5 and 1 / 0 is NULL."""
    sql = when_sql(replace(SPILL, when="elapsed_ms / finished_tasks > 1"), "flink")

    assert sql == "(CAST(`elapsed_ms` AS DOUBLE) / NULLIF(CAST(`finished_tasks` AS DOUBLE), 0E0) > 1E0)"


def test_higher_severities_come_first():
    """The critical condition is tested before the warning, so a critical row is never reported as a warning."""
    sql = severity_sql(CATALOG["task_stuck"], "flink")

    assert sql.index("'critical'") < sql.index("'warning'")


def test_params_are_bound_as_doubles():
    """The value of a param is a literal in the statement."""
    assert "2.5E0" in when_sql(SPILL.with_params({"budget_bytes": 2.5}), "clickhouse")


def test_unknown_dialect_is_rejected():
    """A misspelled dialect is an error."""
    with pytest.raises(ValueError, match="unknown dialect 'duckdb'"):
        severity_sql(SPILL, "duckdb")  # type: ignore[arg-type]  # no Dialect, which this test checks


def test_evidence_is_the_evaluated_columns():
    """The evidence of a rule has the columns of `when` and of its severities, in the order of the view."""
    assert columns(SPILL) == (
        "running_tasks", "running_since_progress_min_ms", "running_spilled_since_progress_max_bytes",
        "running_since_spill_ms", "disk_spilled_bytes", "usual_disk_spilled_bytes",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "engine", "expected"),
    [
        ("stage_runaway_spill", "live", True), ("stage_runaway_spill", "offline", False),
        ("task_stuck", "live", True), ("task_stuck", "history", False),
        ("stage_slow", "offline", True), ("stage_skew", "offline", True), ("stage_spill", "history", True),
    ],
)  # fmt: skip
def test_rule_with_live_only_columns_is_undecidable(rule, engine, expected):
    """A rule is undecidable offline if it requires a column that exists only live.

    A column within COALESCE is not required.
    """
    assert decidable(CATALOG[rule], engine) == expected


def test_undecidable_columns_are_named():
    """The columns that make a rule undecidable offline are returned."""
    assert undecidable_columns(SPILL, "offline") == (
        "running_tasks", "running_since_progress_min_ms", "running_spilled_since_progress_max_bytes",
        "running_since_spill_ms",
    )  # fmt: skip
