"""Parse and validate predicates in the subset of SQL that all engines evaluate to the same result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkfuse_contracts.columns import Column
from sparkfuse_rules.errors import RuleError, unknown_name

NUMBER, TEXT, FLAG = "number", "text", "flag"
_KINDS = {"int32": NUMBER, "int64": NUMBER, "double": NUMBER, "string": TEXT, "bool": FLAG}
NUMERIC_TYPES = frozenset(name for name, kind in _KINDS.items() if kind == NUMBER)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_ORDER = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_FUNCTIONS = (exp.Abs, exp.Ceil, exp.Floor, exp.Ln, exp.Sqrt)
# The allowed operations in the syntax of rules; the message of an error lists them.
KNOWN = (
    "+ - * / %", "= <> < <= > >=", "AND OR NOT", "BETWEEN", "IN", "LIKE", "IS NULL", "CASE", "COALESCE", "NULLIF",
    "ABS", "CEIL", "FLOOR", "LN", "LOG10", "SQRT", "POWER", "CHAR_LENGTH", "CAST(… AS BIGINT)",
)  # fmt: skip


def parse_predicate(place: str, text: str, columns: Mapping[str, Column], params: Collection[str]) -> exp.Expr:
    """Parse a predicate over ``columns`` with ``:params``; its value is true, false or NULL.

    Raises RuleError with ``place`` for invalid syntax, an operation outside of the common subset, an unknown column or
    param, or operands of different types.
    """
    tree = parse_expression(place, text)
    _Checker(place, columns, params).expects(FLAG, tree)
    return tree


def parse_expression(place: str, text: str) -> exp.Expr:
    """Parse an expression without a check of its names and types. Raises RuleError for invalid syntax."""
    try:
        return sqlglot.parse_one(text)
    except SqlglotError as error:
        reason = " ".join(str(error).split()).replace("\x1b[4m", "").replace("\x1b[0m", "")
        raise RuleError(f"{place}: cannot be parsed: {reason}") from error


def columns_of(tree: exp.Expr) -> frozenset[str]:
    """Return the columns of the predicate."""
    return frozenset(column.name for column in tree.find_all(exp.Column))


def needed_columns_of(tree: exp.Expr) -> frozenset[str]:
    """Return the columns that the predicate requires: all columns outside COALESCE."""
    return frozenset(column.name for column in tree.find_all(exp.Column) if not column.find_ancestor(exp.Coalesce))


class _Checker:
    """Checks the types of a predicate: determines the type of each node, or raises RuleError."""

    def __init__(self, place: str, columns: Mapping[str, Column], params: Collection[str]) -> None:
        self._place, self._columns, self._params = place, columns, params
        self._rules: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
            exp.Column: self._column,
            exp.Placeholder: self._param,
            exp.Literal: self._literal,
            exp.Boolean: lambda _: FLAG,
            exp.Paren: lambda node: self._kind(node.this),
            exp.Neg: lambda node: self.expects(NUMBER, node.this),
            exp.Not: lambda node: self.expects(FLAG, node.this),
            exp.Is: self._is_null,
            exp.Like: self._like,
            exp.In: self._in,
            exp.Between: lambda node: self._compared(node.this, node.args["low"], node.args["high"]),
            exp.Case: self._case,
            exp.Coalesce: lambda node: self._same(node.this, *node.expressions),
            exp.Nullif: lambda node: self._same(node.this, node.expression),
            exp.Log: self._log10,
            exp.Pow: lambda node: self.expects(NUMBER, node.this, node.expression),
            exp.Length: self._length,
            exp.Cast: self._cast,
        }
        self._rules.update(dict.fromkeys(_ARITHMETIC, self._both(NUMBER)))
        self._rules.update(dict.fromkeys((exp.And, exp.Or), self._both(FLAG)))
        self._rules.update(dict.fromkeys(_FUNCTIONS, lambda node: self.expects(NUMBER, node.this)))
        self._rules.update(dict.fromkeys(_ORDER, lambda node: self._compared(node.this, node.expression)))
        self._rules.update(dict.fromkeys((exp.EQ, exp.NEQ), lambda node: self._equal(node.this, node.expression)))

    def expects(self, kind: str, *nodes: exp.Expr) -> str:
        """Return ``kind`` if all nodes have this type. Raises RuleError for the first node of another type."""
        for node in nodes:
            if (found := self._kind(node)) != kind:
                raise self._refused(f"{node.sql()} is a {found}, but a {kind} is required")
        return kind

    def _both(self, kind: str) -> Callable[[exp.Expr], str]:
        return lambda node: self.expects(kind, node.this, node.expression)

    def _kind(self, node: exp.Expr) -> str:
        rule = self._rules.get(type(node))
        if rule is None:
            name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__.upper()
            raise self._refused(
                f"{name} is not in the common subset of the engines, in {node.sql()}; allowed: {', '.join(KNOWN)}"
            )
        return rule(node)

    def _refused(self, reason: str) -> RuleError:
        return RuleError(f"{self._place}: {reason}")

    def _column(self, node: exp.Expr) -> str:
        if node.args.get("table") is not None:
            raise self._refused(f"{node.sql()} names a table; a rule can only use columns of its view")
        if node.name not in self._columns:
            raise unknown_name(self._place, "column", node.name, self._columns)
        column = self._columns[node.name]
        if column.type not in _KINDS:
            raise self._refused(f"column {node.name} is a {column.type}, which rules cannot read")
        return _KINDS[column.type]

    def _param(self, node: exp.Expr) -> str:
        if node.name not in self._params:
            raise unknown_name(self._place, "param", node.name, self._params)
        return NUMBER

    def _literal(self, node: exp.Expr) -> str:
        if not node.is_string:
            return NUMBER
        if "\\" in node.name:
            raise self._refused(f"{node.sql()} has a backslash, which only ClickHouse reads as an escape")
        return TEXT

    def _is_null(self, node: exp.Expr) -> str:
        if not isinstance(node.expression, exp.Null):
            raise self._refused(
                f"{node.sql()}: use IS NULL or IS NOT NULL, "
                "because the engines evaluate IS differently for other operands"
            )
        self._kind(node.this)
        return FLAG

    def _like(self, node: exp.Expr) -> str:
        self.expects(TEXT, node.this, node.expression)
        return FLAG

    def _in(self, node: exp.Expr) -> str:
        if not node.expressions or any(not isinstance(each, exp.Literal) for each in node.expressions):
            raise self._refused(f"{node.sql()}: IN needs a list of literals")
        self._same(node.this, *node.expressions)
        return FLAG

    def _case(self, node: exp.Expr) -> str:
        if node.this is not None:
            raise self._refused(f"{node.sql()}: write CASE WHEN condition THEN …")
        branches = node.args["ifs"]
        self.expects(FLAG, *(branch.this for branch in branches))
        default = [node.args["default"]] if node.args.get("default") is not None else []
        return self._same(*(branch.args["true"] for branch in branches), *default)

    def _log10(self, node: exp.Expr) -> str:
        if node.expression is None or node.this.name != "10":
            raise self._refused(f"{node.sql()}: use LN or LOG10, because LOG does not mean the same in every engine")
        return self.expects(NUMBER, node.expression)

    def _length(self, node: exp.Expr) -> str:
        self.expects(TEXT, node.this)
        return NUMBER

    def _cast(self, node: exp.Expr) -> str:
        if node.args["to"].this != exp.DataType.Type.BIGINT:
            raise self._refused(
                f"{node.sql()}: CAST only to BIGINT, because the engines convert to other types differently"
            )
        return self.expects(NUMBER, node.this)

    def _same(self, first: exp.Expr, *others: exp.Expr) -> str:
        return self.expects(self._kind(first), first, *others)

    def _compared(self, first: exp.Expr, *others: exp.Expr) -> str:
        self.expects(NUMBER, first, *others)
        return FLAG

    def _equal(self, first: exp.Expr, second: exp.Expr) -> str:
        self._same(first, second)
        return FLAG
