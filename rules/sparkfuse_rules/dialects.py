"""Write a validated predicate in the SQL of one engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Literal

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.generator import Generator as SqlGenerator
from sqlglot.tokens import Tokenizer as SqlTokenizer

Dialect = Literal["flink", "datafusion", "clickhouse"]
DIALECTS: tuple[Dialect, ...] = ("flink", "datafusion", "clickhouse")


class Flink(SqlglotDialect):
    """The part of Flink SQL that predicates use: names in backticks, and text of type STRING."""

    class Tokenizer(SqlTokenizer):
        """The tokenizer with Flink's quotes for names."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]

    class Generator(SqlGenerator):
        """The generator with Flink's names for types."""

        TYPE_MAPPING: ClassVar[dict[Any, str]] = {**SqlGenerator.TYPE_MAPPING, exp.DType.VARCHAR: "STRING"}


class DataFusion(SqlglotDialect):
    """The part of DataFusion's SQL that predicates use: names in double quotes."""


_WRITERS: Mapping[Dialect, type[SqlglotDialect]] = {"flink": Flink, "datafusion": DataFusion, "clickhouse": ClickHouse}


def write(tree: exp.Expr, dialect: Dialect, numbers: Collection[str], column_prefix: str = "") -> str:
    """Return the SQL of the predicate ``tree`` for one engine; all engines evaluate it to the same result.

    ``predicate.parse_predicate`` must have validated ``tree``. ``numbers`` are the numeric columns. Raises ValueError
    for an unknown dialect.
    """
    if dialect not in _WRITERS:
        raise ValueError(f"unknown dialect {dialect!r}; known dialects: {', '.join(DIALECTS)}")

    def rewritten(node: exp.Expr) -> exp.Expr:
        """Rewrite from the leaves up, and each node only once, even if a rewrite creates nodes of the same type."""
        if isinstance(node, exp.Column):
            column = _column(node.name, dialect, column_prefix)
            return exp.cast(column, "DOUBLE") if node.name in numbers else column
        new = node.copy()
        for key, value in node.args.items():
            if isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
                new.set(key, rewritten(value))
            elif isinstance(value, list):
                new.set(key, [rewritten(each) for each in value])
        rewrite = _REWRITES.get(type(node))
        return rewrite(new) if rewrite else new

    return rewritten(tree).sql(dialect=_WRITERS[dialect], identify=True)


def _column(name: str, dialect: Dialect, prefix: str) -> exp.Expr:
    if not prefix:
        return exp.column(name)
    if dialect == "datafusion":
        return exp.Bracket(this=exp.column(prefix), expressions=[exp.Literal.string(name)])
    return exp.column(name, table=prefix)


def _literal(node: exp.Expr) -> exp.Expr:
    if node.is_string:
        return node
    # A literal with an exponent is a DOUBLE in all three engines; 1.5 is a DECIMAL in Flink.
    digits = f"{float(node.name):.17g}".replace("e", "E")
    return exp.Literal.number(digits if "E" in digits else f"{digits}E0")


def _division(node: exp.Expr) -> exp.Expr:
    node.set("expression", exp.Nullif(this=node.expression, expression=exp.Literal.number("0E0")))
    return node


def _remainder(node: exp.Expr) -> exp.Expr:
    whole = exp.Mod(
        this=_whole(node.this),
        expression=exp.Nullif(this=_whole(node.expression), expression=exp.Literal.number(0)),
    )
    return exp.cast(exp.paren(whole), "DOUBLE")


def _whole(value: exp.Expr) -> exp.Expr:
    """Return the SQL of the value without its fraction; NULL beyond 64 bits, because engines fail or overflow there."""
    fits = exp.LT(this=exp.Abs(this=value.copy()), expression=exp.Literal.number("9E18"))
    return exp.cast(exp.Case(ifs=[exp.If(this=fits, true=value)]), "BIGINT")


def _where(holds: type[exp.Binary], value: exp.Expr) -> exp.Expr:
    """Return SQL that is the value if the value is above zero (GT) or at least zero (GTE), else NULL."""
    condition = holds(this=value.copy(), expression=exp.Literal.number("0E0"))
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


_REWRITES: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Literal: _literal,
    exp.Div: _division,
    exp.Mod: _remainder,
    exp.Ln: lambda node: _function("LN", _where(exp.GT, node.this)),
    exp.Log: lambda node: _function("LOG10", _where(exp.GT, node.expression)),
    exp.Sqrt: lambda node: _function("SQRT", _where(exp.GTE, node.this)),
    exp.Pow: lambda node: _function("POWER", _where(exp.GTE, node.this), node.expression),
    exp.Length: lambda node: exp.cast(_function("CHAR_LENGTH", node.this), "DOUBLE"),
    exp.Cast: lambda node: exp.cast(_whole(node.this), "DOUBLE"),
}
