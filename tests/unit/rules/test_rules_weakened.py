"""Tests predicates whose columns are not all known yet."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import when_sql
from sparkfuse_rules.predicate import parse_expression
from sparkfuse_rules.weakened import weakened

CATALOG = load_catalog()
# Atoms of generated predicates: a condition on known columns, one on an unknown column, and conditions on a column that
# is either NULL or 'none', and on one that is either NULL or false.
KNOWN, UNKNOWN = "a > 1", "b > 1"
PYTHON = ("runs_python", "NOT runs_python", "runs_python = TRUE", "runs_python = FALSE", "runs_python <> TRUE")
MOVED = ("moved = 'cpu'", "moved = 'none'", "moved <> 'cpu'", "moved IN ('wall', 'none')", "moved IN ('wall')")
predicates = st.recursive(
    st.sampled_from([KNOWN, UNKNOWN, *MOVED, *PYTHON, f"NOT ({UNKNOWN})", "moved IS NULL"]),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda each: f"({' '.join(each)})"),
    max_leaves=8,
)
numbers = st.sampled_from([None, 0, 5])


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("elapsed_ms > 5 AND moved = 'cpu'", "FALSE"),
        ("elapsed_ms > 5 AND moved <> 'cpu'", "(CAST(`elapsed_ms` AS DOUBLE) > 5E0)"),
        ("elapsed_ms > 5 OR moved IN ('wall', 'both')", "(CAST(`elapsed_ms` AS DOUBLE) > 5E0)"),
        ("elapsed_ms > 5 AND elapsed_ms > expected_ms", "(CAST(`elapsed_ms` AS DOUBLE) > 5E0)"),
        ("elapsed_ms > 5 AND NOT (moved = 'cpu' AND elapsed_ms > 9)", "(CAST(`elapsed_ms` AS DOUBLE) > 5E0)"),
        ("COALESCE(expected_ms, 0) > 5", "TRUE"),
        ("elapsed_ms > 5 AND runs_python", "FALSE"),
        ("elapsed_ms > 5 AND runs_python = FALSE", "(CAST(`elapsed_ms` AS DOUBLE) > 5E0)"),
    ],
)
def test_conditions_on_unknown_columns_are_removed(when: str, expected: str):
    """A condition on an unknown column counts as true, and a condition on a constant is evaluated."""
    rule = replace(CATALOG["stage_spill"], when=when, params={})
    sql = when_sql(rule, "flink", unknown={"expected_ms"}, constants={"moved": "none", "runs_python": False})

    assert sql.replace("((", "(").replace("))", ")") == expected or sql == f"({expected})"


@given(predicates, numbers, numbers, st.sampled_from([None, "none"]), st.sampled_from([None, False]))
def test_weakened_predicate_is_true_wherever_the_predicate_is(predicate, a, b, moved, python):
    """For each value of the unknown columns, a row on which the predicate is true also has a true weaker predicate."""
    tree = parse_expression("test", predicate)
    weaker = weakened(tree, {"b"}, {"moved": "none", "runs_python": False})
    values = {"a": a, "b": b, "moved": moved, "runs_python": python}

    assert "b" not in weaker.sql()
    if holds(predicate, values):
        assert holds(weaker.sql(), values)


def holds(predicate: str, values: dict[str, object]) -> bool:
    """Return whether SQLite, whose logic with NULL is that of the engines, evaluates the predicate to true."""
    import sqlite3

    with sqlite3.connect(":memory:") as engine:
        columns = ", ".join(f":{name} AS {name}" for name in values)
        return engine.execute(f"SELECT COALESCE({predicate}, 0) FROM (SELECT {columns})", values).fetchone() == (1,)
