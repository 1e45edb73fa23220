"""Weaken a predicate whose columns are not all known yet, so that it is true wherever the predicate can become true."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from sparkfuse_rules.predicate import columns_of

_TRUE, _FALSE = exp.true(), exp.false()
# The values of columns, by name.
Constants = Mapping[str, str | bool]


def weakened(tree: exp.Expr, unknown: Collection[str], constants: Constants) -> exp.Expr:
    """Return a predicate without the columns ``unknown`` that is true on every row on which ``tree`` can be true.

    ``constants`` are columns of text or truth values that are either NULL or this value. A condition on an unknown
    column is replaced by TRUE. Only conditions that AND and OR connect are replaced, because there a condition that is
    true more often cannot make the whole predicate true less often.
    """
    if isinstance(tree, exp.Paren):
        inner = weakened(tree.this, unknown, constants)
        return inner if isinstance(inner, exp.Boolean) else exp.paren(inner)
    if isinstance(tree, exp.And | exp.Or):
        sides = [weakened(side, unknown, constants) for side in (tree.this, tree.expression)]
        return _joined(type(tree), *sides)
    columns = columns_of(tree)
    if not columns & {*unknown, *constants}:
        return tree.copy()
    if columns <= constants.keys() and (evaluate := _EVALUATIONS.get(type(tree))):
        return _TRUE.copy() if evaluate(tree, constants) else _FALSE.copy()
    return _TRUE.copy()


def _joined(connector: type[exp.Connector], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    decisive, neutral = (_FALSE, _TRUE) if connector is exp.And else (_TRUE, _FALSE)
    if decisive in (left, right):
        return decisive.copy()
    if left == neutral:
        return right
    return left if right == neutral else connector(this=left, expression=right)


def _is_equal(tree: exp.Expr, constants: Constants) -> bool:
    return _value(tree.this, constants) == _value(tree.expression, constants)


def _is_among(tree: exp.Expr, constants: Constants) -> bool:
    return _value(tree.this, constants) in {_value(each, constants) for each in tree.expressions}


# On NULL, none of these conditions is true, so only the value matters.
_EVALUATIONS: Mapping[type[exp.Expr], Callable[[exp.Expr, Constants], bool]] = {
    exp.Column: lambda tree, constants: constants[tree.name] is True,
    exp.EQ: _is_equal,
    exp.NEQ: lambda tree, constants: not _is_equal(tree, constants),
    exp.In: _is_among,
}


def _value(node: exp.Expr, constants: Constants) -> str | bool:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    return constants[node.name] if isinstance(node, exp.Column) else node.name
