"""Compile a rule's predicates to the SQL of Flink, DataFusion and ClickHouse; all three return the same result.

The engines differ in these operations:
integer division: Flink truncates the result, ClickHouse does not;
division by zero: Flink's job fails, the other engines return infinity;
logarithm or root of an invalid value: DataFusion orders NaN above all numbers;
integers next to doubles in one CASE: ClickHouse reports an error.
So the compiler makes every number a DOUBLE and every undefined result NULL. A rule does not fire on NULL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal

from sqlglot import exp

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.dialects import Dialect, write
from sparkfuse_rules.predicate import NUMERIC_TYPES, columns_of, needed_columns_of, parse_predicate
from sparkfuse_rules.rule import SEVERITIES, Rule
from sparkfuse_rules.weakened import Constants, weakened

Engine = Literal["live", "offline", "history"]
_NOTHING: Mapping[str, str] = {
    "flink": "CAST(NULL AS STRING)",
    "datafusion": "CAST(NULL AS VARCHAR)",
    "clickhouse": "CAST(NULL AS Nullable(String))",
}
_ABSENT: Mapping[str, frozenset[str]] = {
    "live": frozenset({"offline only"}),
    "offline": frozenset({"live only"}),
    "history": frozenset({"live only"}),
}


def severity_sql(rule: Rule, dialect: Dialect, column_prefix: str = "") -> str:
    """Return the SQL expression for the rule's highest severity, or NULL if the rule does not fire.

    ``column_prefix`` is the name of the nested row that contains the columns of the view; it is empty if they are
    top-level columns. If the evidence is NULL, the result is NULL. If the rule has overrides for some jobs, the column
    ``job_key`` selects them. Raises RuleError for an unknown name.
    """
    sql = _severity_sql(rule, dialect, column_prefix) if rule.enabled else _NOTHING[dialect]
    if not rule.variants:
        return sql
    some = (
        f"WHEN {job_matches(pattern, dialect)} THEN "
        + (_severity_sql(variant, dialect, column_prefix) if variant else _NOTHING[dialect])
        for pattern, variant in rule.variants
    )
    return f"CASE {' '.join(some)} ELSE {sql} END"


def job_matches(pattern: str, dialect: Dialect) -> str:
    """Return the SQL condition that is true if the whole ``job_key`` matches a pattern with * and ?."""
    written = "".join({"*": ".*", "?": "."}.get(each) or _escaped(each) for each in pattern)
    literal = "'^" + written.replace("'", "''") + "$'"
    return {
        "flink": f"REGEXP(`job_key`, {literal})",
        "datafusion": f"regexp_like(job_key, {literal})",
        "clickhouse": f"match(assumeNotNull(job_key), {literal})",
    }[dialect]


def _escaped(character: str) -> str:
    """Return a character escaped for a regular expression.

    The escape uses brackets, because engines differ in how they interpret a backslash.
    """
    return character if character.isalnum() or character in " _-/:,;@#%&=<>!~'\"" else f"[{character}]"


def _severity_sql(rule: Rule, dialect: Dialect, column_prefix: str) -> str:
    when = _bound(rule, "when", rule.when)
    levels = [level for level in SEVERITIES if level in rule.severity]
    case = exp.Case(
        ifs=[
            exp.If(
                this=exp.and_(when.copy(), _bound(rule, f"severity.{level}", rule.severity[level])),
                true=exp.Literal.string(level),
            )
            for level in levels
        ]
    )
    return write(case, dialect, _numbers(rule), column_prefix)


def when_sql(
    rule: Rule,
    dialect: Dialect,
    column_prefix: str = "",
    unknown: Collection[str] = (),
    constants: Constants = MappingProxyType({}),
) -> str:
    """Return the SQL of the rule's ``when`` condition; the result is NULL if the evidence is NULL.

    The SQL does not read the columns ``unknown``, which may have any value, nor ``constants``, which are NULL or the
    given value. With such columns, the result is true on each row on which the condition can be true.
    """
    tree = weakened(_bound(rule, "when", rule.when), unknown, constants)
    return write(tree, dialect, _numbers(rule), column_prefix)


def columns(rule: Rule) -> tuple[str, ...]:
    """Return the rule's evidence: the columns that the rule evaluates, in the order of the view."""
    used = set().union(*(columns_of(predicate) for predicate in _predicates(rule)))
    return tuple(column for column in VIEWS[rule.view] if column in used)


def decidable(rule: Rule, engine: Engine) -> bool:
    """Return whether all columns that the rule requires exist in ``engine``.

    ``engine`` is live, offline (event logs) or history. A column inside COALESCE is not required. A rule that requires
    other columns is reported as not decidable, never as passed.
    """
    return not undecidable_columns(rule, engine)


def undecidable_columns(rule: Rule, engine: Engine) -> tuple[str, ...]:
    """Return the required columns that never exist in ``engine``."""
    view = VIEWS[rule.view]
    return tuple(column for column in needed_columns(rule) if _ABSENT[engine] & set(view[column].tags))


def needed_columns(rule: Rule) -> tuple[str, ...]:
    """Return the columns that the rule requires, in the order of the view; if one is NULL, the rule cannot fire."""
    needed = set().union(*(needed_columns_of(predicate) for predicate in _predicates(rule)))
    return tuple(column for column in VIEWS[rule.view] if column in needed)


def fuse_when_sql(rule: Rule, dialect: Dialect) -> str:
    """Return the SQL of ``fuse.when``; TRUE if the rule has no fuse, or its fuse has no condition on the row."""
    return write(_bound(rule, "fuse.when", rule.fuse.when if rule.fuse else "TRUE"), dialect, _numbers(rule))


def fuse_columns(rule: Rule) -> frozenset[str]:
    """Return the columns of ``fuse.when``."""
    return columns_of(_parsed(rule, "fuse.when", rule.fuse.when if rule.fuse else "TRUE"))


def needs_sql(rule: Rule, dialect: Dialect) -> str:
    """Return the SQL condition that is true if ``fuse.when`` and all ``fuse.needs`` are true; NULL for NULL evidence.

    A condition of ``fuse.needs`` is left out if its counter is not a column of the view, because stored rows lack it.
    """
    known = [condition for condition in signal_conditions(rule) if condition.column in VIEWS[rule.view]]
    needs = [f"{each.column} {each.operator} {each.threshold!r}" for each in known]
    held = [_bound(rule, f"fuse.needs[{place}]", text) for place, text in enumerate(needs)]
    when = _bound(rule, "fuse.when", rule.fuse.when if rule.fuse else "TRUE")
    return write(exp.and_(when, *held), dialect, _numbers(rule))


def _numbers(rule: Rule) -> frozenset[str]:
    return frozenset(name for name, column in VIEWS[rule.view].items() if column.type in NUMERIC_TYPES)


def _predicates(rule: Rule) -> list[exp.Expr]:
    texts = {"when": rule.when, **{f"severity.{level}": text for level, text in rule.severity.items()}}
    return [_parsed(rule, key, text) for key, text in texts.items()]


def _parsed(rule: Rule, key: str, text: str) -> exp.Expr:
    return parse_predicate(f"{rule.file}: {key}", text, VIEWS[rule.view], rule.params)


def _bound(rule: Rule, key: str, text: str) -> exp.Expr:
    values = {name: param.value for name, param in rule.params.items()}

    def literal(node: exp.Expr) -> exp.Expr:
        return exp.Literal.number(values[node.name]) if isinstance(node, exp.Placeholder) else node

    return exp.paren(_parsed(rule, key, text).transform(literal))
