"""Run the test cases of rule files on any of the three SQL engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.compiler import columns, severity_sql
from sparkfuse_rules.dialects import Dialect
from sparkfuse_rules.rule import QUIET, Case, Rule, Value

# Runs one SQL statement and returns its rows (number, severity or NULL), in any order.
RunSql = Callable[[str], Iterable[tuple[int, str | None]]]
_SQL_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN"}
# Represents NULL in a table of strings; no case contains this character.
_ABSENT = "\N{SYMBOL FOR NULL}"
_CLICKHOUSE_TYPES = {"int32": "Int32", "int64": "Int64", "double": "Float64", "string": "String", "bool": "Bool"}


@dataclass(frozen=True)
class CaseResult:
    """The result of one test case; ``actual`` is the severity that the rule returned, or quiet."""

    rule: Rule
    case: Case
    actual: str

    @property
    def passed(self) -> bool:
        """Whether the actual result is the expected result of the case."""
        return self.actual == self.case.expect


def run_cases(rules: Iterable[Rule], dialect: Dialect, run_sql: RunSql) -> tuple[CaseResult, ...]:
    """Run all cases of ``rules`` in one SQL statement, because some engines are slow to start a query."""
    cases = [(rule, case) for rule in rules for case in rule.cases]
    if not cases:
        return ()
    severities = dict(run_sql(cases_sql(cases, dialect)))
    return tuple(CaseResult(rule, case, severities[number] or QUIET) for number, (rule, case) in enumerate(cases))


def cases_sql(cases: Sequence[tuple[Rule, Case]], dialect: Dialect) -> str:
    """Return the SQL statement that evaluates all cases.

    Each result row is (number of the case, severity); a NULL severity means quiet.
    """
    views: dict[str, list[_NumberedCase]] = {}
    for number, (rule, case) in enumerate(cases):
        variant = (rule.id, *case.params.items())
        views.setdefault(rule.view, []).append(
            _NumberedCase(number, variant, replace(rule.with_params(case.params), variants=()), case)
        )
    return "\nUNION ALL\n".join(_view_sql(of_view, dialect) for of_view in views.values())


class _NumberedCase(NamedTuple):
    """One case with its number, and the variant of its rule that the case's params select."""

    number: int
    variant: tuple[object, ...]
    rule: Rule
    case: Case


def _view_sql(cases: Sequence[_NumberedCase], dialect: Dialect) -> str:
    """Return one SQL statement over one table for all cases of a view, because engines plan many operators slowly."""
    rules = {each.variant: each.rule for each in cases}
    variants = {variant: str(number) for number, variant in enumerate(rules)}
    names = list(dict.fromkeys(name for rule in rules.values() for name in columns(rule)))
    rows = [
        (str(each.number), variants[each.variant], *(_text(each.case.given.get(name)) for name in names))
        for each in cases
    ]
    whens = " ".join(
        f"WHEN rule_variant = '{number}' THEN {severity_sql(rules[variant], dialect)}"
        for variant, number in variants.items()
    )
    given = ", ".join(_given_sql(name, cases[0].rule, dialect) for name in names)
    evidence = f"SELECT case_number, rule_variant, {given} FROM {_table(rows, names, dialect)}"
    return f"SELECT CAST(case_number AS INT) AS case_number, CASE {whens} END AS severity FROM ({evidence}) AS evidence"


def _given_sql(name: str, rule: Rule, dialect: Dialect) -> str:
    quote = '"' if dialect == "datafusion" else "`"
    return f"CAST(NULLIF(given_{name}, '{_ABSENT}') AS {_type_of(name, rule, dialect)}) AS {quote}{name}{quote}"


def _table(rows: Sequence[Sequence[str]], names: Sequence[str], dialect: Dialect) -> str:
    """Return the SQL of a table that contains the rows as strings.

    Flink plans one source for each row if a row contains anything but plain literals.
    """
    header = ["case_number", "rule_variant", *(f"given_{name}" for name in names)]
    values = ", ".join(f"({', '.join(_quoted(text) for text in row)})" for row in rows)
    if dialect == "clickhouse":
        return f"values('{', '.join(f'{name} String' for name in header)}', {values}) AS given"
    return f"(VALUES {values}) AS given ({', '.join(header)})"


def _type_of(name: str, rule: Rule, dialect: Dialect) -> str:
    kind = VIEWS[rule.view][name].type
    # In ClickHouse only a Nullable type can hold NULL.
    return f"Nullable({_CLICKHOUSE_TYPES[kind]})" if dialect == "clickhouse" else _SQL_TYPES[kind]


def _text(value: Value) -> str:
    return _ABSENT if value is None else str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
