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
def test_columns_are_quoted_and_prefixed_as_the_engine_wants(dialect, prefix, expected):
    """Reserved words are safe, and nested rows are reached."""
    sql = when_sql(replace(SPILL, when="name = 'x'"), dialect, prefix)

    assert f"({expected} = 'x')" == sql


def test_division_is_of_doubles_and_never_by_zero():
    """7 / 2 is 3.5 everywhere, 1 / 0 is NULL everywhere."""
    sql = when_sql(replace(SPILL, when="elapsed_ms / finished_tasks > 1"), "flink")

    assert sql == "(CAST(`elapsed_ms` AS DOUBLE) / NULLIF(CAST(`finished_tasks` AS DOUBLE), 0E0) > 1E0)"


def test_worse_severities_are_asked_first():
    """A row that is critical is never called a warning."""
    sql = severity_sql(CATALOG["task_stuck"], "flink")

    assert sql.index("'critical'") < sql.index("'warning'")


def test_params_are_bound_as_doubles():
    """A team's number stands in the statement."""
    assert "2.5E0" in when_sql(SPILL.with_params({"budget_bytes": 2.5}), "clickhouse")


def test_unknown_dialects_are_refused():
    """A typing error in code is an error, not another dialect's SQL."""
    with pytest.raises(ValueError, match="unknown dialect 'duckdb'"):
        severity_sql(SPILL, "duckdb")


def test_the_evidence_is_what_the_rule_looks_at():
    """Columns of when and of the severities, in the order of the view."""
    assert columns(SPILL) == ("running_tasks", "since_finish_ms", "disk_spilled_bytes")


@pytest.mark.parametrize(
    ("rule", "engine", "expected"),
    [
        ("stage_runaway_spill", "live", True), ("stage_runaway_spill", "rest", False),
        ("task_stuck", "live", True), ("task_stuck", "history", False),
        ("stage_slow", "rest", True), ("stage_skew", "rest", True), ("stage_spill", "history", True),
    ],
)  # fmt: skip
def test_what_an_engine_cannot_see_is_not_decidable_there(rule, engine, expected):
    """Evidence that exists only live makes the rule not decidable offline, unless it stands in a COALESCE."""
    assert decidable(CATALOG[rule], engine) == expected


def test_the_reason_why_a_rule_is_not_decidable_is_named():
    """The columns that are missing are said."""
    assert undecidable_columns(SPILL, "rest") == ("running_tasks", "since_finish_ms")
