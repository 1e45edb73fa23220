"""Runs the cases that a rule file carries, on whichever engine answers the SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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
    return "\nUNION ALL\n".join(_case_sql(place, rule, case, dialect) for place, (rule, case) in enumerate(asked))


def _case_sql(place: int, rule: Rule, case: Case, dialect: Dialect) -> str:
    given = ", ".join(_given_sql(name, rule, case, dialect) for name in columns(rule))
    severity = severity_sql(rule.with_params(case.params), dialect)
    return f"SELECT {place} AS place, {severity} AS severity FROM (SELECT {given}) AS evidence"


def _given_sql(name: str, rule: Rule, case: Case, dialect: Dialect) -> str:
    kind = VIEWS[rule.view][name].type
    # ClickHouse keeps NULL only in types that say so.
    sql_type = f"Nullable({_CLICKHOUSE_TYPES[kind]})" if dialect == "clickhouse" else _SQL_TYPES[kind]
    quote = '"' if dialect == "datafusion" else "`"
    return f"CAST({_literal(case.given.get(name))} AS {sql_type}) AS {quote}{name}{quote}"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
