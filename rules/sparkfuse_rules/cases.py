"""Runs the cases that a rule file carries, on whichever engine answers the SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.compiler import columns, severity_sql
from sparkfuse_rules.dialects import Dialect
from sparkfuse_rules.rule import QUIET, Case, Rule, Value

# Answers one statement that gives rows (place, severity or NULL), in any order.
Answer = Callable[[str], Iterable[tuple[int, str | None]]]
_SQL_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN"}
_CLICKHOUSE_TYPES = {"int32": "Int32", "int64": "Int64", "double": "Float64", "string": "String", "bool": "Bool"}


@dataclass(frozen=True)
class CaseResult:
    """What a case gave; ``actual`` and the case's expectation are a severity or quiet."""

    rule: Rule
    case: Case
    actual: str

    @property
    def passed(self) -> bool:
        """Whether the rule answered as its case says."""
        return self.actual == self.case.expect


def run_cases(rules: Iterable[Rule], dialect: Dialect, answer: Answer) -> tuple[CaseResult, ...]:
    """Run every case of ``rules`` in one statement, so that engines that are slow to start are asked once."""
    asked = [(rule, case) for rule in rules for case in rule.cases]
    if not asked:
        return ()
    actual = dict(answer(cases_sql(asked, dialect)))
    return tuple(CaseResult(rule, case, actual[place] or QUIET) for place, (rule, case) in enumerate(asked))


def cases_sql(asked: Sequence[tuple[Rule, Case]], dialect: Dialect) -> str:
    """The statement that asks all cases: one row (place, severity) for each, NULL being quiet."""
    numbered = [(rule.with_params(case.params), place, case) for place, (rule, case) in enumerate(asked)]
    groups = groupby(numbered, key=lambda entry: (entry[0].id, tuple(entry[2].params.items())))
    return "\nUNION ALL\n".join(_group_sql(list(group), dialect) for _, group in groups)


def _group_sql(group: Sequence[tuple[Rule, int, Case]], dialect: Dialect) -> str:
    """One statement for the cases of a rule that have the same params, as live a rule is one column over many rows."""
    rule, names = group[0][0], columns(group[0][0])
    quote = '"' if dialect == "datafusion" else "`"
    quoted = [f"{quote}{name}{quote}" for name in ("place", *names)]
    rows = [[str(place), *(_given_sql(name, rule, case, dialect) for name in names)] for _, place, case in group]
    if dialect == "clickhouse":  # it has no VALUES with columns of their own
        selects = (", ".join(map(" AS ".join, zip(row, quoted, strict=True))) for row in rows)
        evidence = f"({' UNION ALL '.join(f'SELECT {select}' for select in selects)}) AS evidence"
    else:
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        evidence = f"(VALUES {values}) AS evidence ({', '.join(quoted)})"
    return f"SELECT {quoted[0]}, {severity_sql(rule, dialect)} AS severity FROM {evidence}"


def _given_sql(name: str, rule: Rule, case: Case, dialect: Dialect) -> str:
    kind = VIEWS[rule.view][name].type
    # ClickHouse keeps NULL only in types that say so.
    sql_type = f"Nullable({_CLICKHOUSE_TYPES[kind]})" if dialect == "clickhouse" else _SQL_TYPES[kind]
    return f"CAST({_literal(case.given.get(name))} AS {sql_type})"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
