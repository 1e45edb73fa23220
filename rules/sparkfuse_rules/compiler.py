"""Compiles a rule's predicate to the SQL of three engines, all meaning the same.

Each rewriting answers a difference that was tried on the real engines: integer division (Flink truncates, ClickHouse
does not), division by zero (Flink's job ends, the others give infinity), logarithm and root of what has none
(DataFusion holds NaN greater than all, the others do not), whole and broken numbers in one CASE (ClickHouse refuses).
So every number is a DOUBLE and every undefined result is NULL, which is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.dialects import Dialect, write
from sparkfuse_rules.predicate import NUMERIC_TYPES, columns_of, needed_columns_of, parse_predicate
from sparkfuse_rules.rule import SEVERITIES, Rule

Engine = Literal["live", "rest", "history"]
_NOTHING: Mapping[str, str] = {
    "flink": "CAST(NULL AS STRING)",
    "datafusion": "CAST(NULL AS VARCHAR)",
    "clickhouse": "CAST(NULL AS Nullable(String))",
}
_ABSENT: Mapping[str, frozenset[str]] = {
    "live": frozenset({"offline only"}),
    "rest": frozenset({"live only"}),
    "history": frozenset({"live only"}),
}


def severity_sql(rule: Rule, dialect: Dialect, column_prefix: str = "") -> str:
    """Write the SQL expression that gives the rule's worst severity, or NULL when the rule does not hold.

    ``dialect`` is flink, datafusion or clickhouse; ``column_prefix`` names the nested row that carries the view's
    columns, empty when they stand by themselves. NULL evidence gives NULL. Where the rule is set otherwise for some
    jobs the column ``job_key`` of the envelope is asked first. Raises RuleError for what is unknown.
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
    """Write whether the column ``job_key`` fits a pattern of * and ?, whole, by an expression that all read alike."""
    written = "".join({"*": ".*", "?": "."}.get(each) or _escaped(each) for each in pattern)
    literal = "'^" + written.replace("'", "''") + "$'"
    return {
        "flink": f"REGEXP(`job_key`, {literal})",
        "datafusion": f"regexp_like(job_key, {literal})",
        "clickhouse": f"match(assumeNotNull(job_key), {literal})",
    }[dialect]


def _escaped(character: str) -> str:
    """A character as itself; in brackets, because a backslash in a literal is read in two ways."""
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


def when_sql(rule: Rule, dialect: Dialect, column_prefix: str = "") -> str:
    """Write the rule's ``when`` alone, as a predicate; NULL evidence gives NULL."""
    return write(_bound(rule, "when", rule.when), dialect, _numbers(rule), column_prefix)


def columns(rule: Rule) -> tuple[str, ...]:
    """The columns that the rule looks at, in the order of the view: its evidence."""
    used = set().union(*(columns_of(predicate) for predicate in _predicates(rule)))
    return tuple(column for column in VIEWS[rule.view] if column in used)


def decidable(rule: Rule, engine: Engine) -> bool:
    """Whether the evidence that the rule needs exists there: live, offline (event logs) or in history.

    A column inside COALESCE with a fallback is not needed. Where it is not decidable the answer is
    "not decidable", never "fine".
    """
    return not undecidable_columns(rule, engine)


def undecidable_columns(rule: Rule, engine: Engine) -> tuple[str, ...]:
    """The needed columns that ``engine`` never has: the reason why the rule is not decidable there."""
    view = VIEWS[rule.view]
    return tuple(column for column in needed_columns(rule) if _ABSENT[engine] & set(view[column].tags))


def needed_columns(rule: Rule) -> tuple[str, ...]:
    """The columns that the rule cannot do without, in the order of the view: where one is NULL nothing can be said."""
    needed = set().union(*(needed_columns_of(predicate) for predicate in _predicates(rule)))
    return tuple(column for column in VIEWS[rule.view] if column in needed)


def needs_sql(rule: Rule, dialect: Dialect) -> str:
    """Write whether all that the rule's fuse needs holds, as a predicate; NULL evidence gives NULL."""
    needs = rule.fuse.needs if rule.fuse else ()
    held = [_bound(rule, f"fuse.needs[{place}]", text) for place, text in enumerate(needs)]
    return write(exp.and_(exp.true(), *held), dialect, _numbers(rule))


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
