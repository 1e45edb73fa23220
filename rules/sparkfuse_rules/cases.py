"""Runs the cases that a rule file carries, on whichever engine answers the SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.compiler import columns, severity_sql
from sparkfuse_rules.dialects import Dialect
from sparkfuse_rules.rule import QUIET, Case, Rule, Value

# Answers one statement that gives rows (place, severity or NULL), in any order.
Answer = Callable[[str], Iterable[tuple[int, str | None]]]
_SQL_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN"}
# Stands for NULL where a table of texts cannot hold it; no case gives a text like it.
_ABSENT = "\N{SYMBOL FOR NULL}"
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
    views: dict[str, list[_Asked]] = {}
    for place, (rule, case) in enumerate(asked):
        variant = (rule.id, *case.params.items())
        views.setdefault(rule.view, []).append(
            _Asked(place, variant, replace(rule.with_params(case.params), variants=()), case)
        )
    return "\nUNION ALL\n".join(_view_sql(of_view, dialect) for of_view in views.values())


class _Asked(NamedTuple):
    """One case, and which variant of its rule (by the case's params) it asks."""

    place: int
    variant: tuple[object, ...]
    rule: Rule
    case: Case


def _view_sql(asked: Sequence[_Asked], dialect: Dialect) -> str:
    """One statement over one table for all cases of a view: an engine that is slow to plan plans few operators."""
    rules = {each.variant: each.rule for each in asked}
    number = {variant: str(place) for place, variant in enumerate(rules)}
    names = list(dict.fromkeys(name for rule in rules.values() for name in columns(rule)))
    rows = [
        (str(each.place), number[each.variant], *(_text(each.case.given.get(name)) for name in names)) for each in asked
    ]
    whens = " ".join(
        f"WHEN asks = '{number[variant]}' THEN {severity_sql(rule, dialect)}" for variant, rule in rules.items()
    )
    given = ", ".join(_given_sql(name, asked[0].rule, dialect) for name in names)
    evidence = f"SELECT place, asks, {given} FROM {_table(rows, names, dialect)}"
    return f"SELECT CAST(place AS INT) AS place, CASE {whens} END AS severity FROM ({evidence}) AS evidence"


def _given_sql(name: str, rule: Rule, dialect: Dialect) -> str:
    quote = '"' if dialect == "datafusion" else "`"
    return f"CAST(NULLIF(given_{name}, '{_ABSENT}') AS {_type_of(name, rule, dialect)}) AS {quote}{name}{quote}"


def _table(rows: Sequence[Sequence[str]], names: Sequence[str], dialect: Dialect) -> str:
    """The rows as a table of texts: only rows of plain literals are one source to Flink, all others one source each."""
    header = ["place", "asks", *(f"given_{name}" for name in names)]
    values = ", ".join(f"({', '.join(_quoted(text) for text in row)})" for row in rows)
    if dialect == "clickhouse":
        return f"values('{', '.join(f'{name} String' for name in header)}', {values}) AS given"
    return f"(VALUES {values}) AS given ({', '.join(header)})"


def _type_of(name: str, rule: Rule, dialect: Dialect) -> str:
    kind = VIEWS[rule.view][name].type
    # ClickHouse keeps NULL only in types that say so.
    return f"Nullable({_CLICKHOUSE_TYPES[kind]})" if dialect == "clickhouse" else _SQL_TYPES[kind]


def _text(value: Value) -> str:
    return _ABSENT if value is None else str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
