"""Convert ``fuse.needs`` to the conditions of a signal, which the hook checks against its own counters."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.errors import RuleError, unknown_name
from sparkfuse_rules.predicate import parse_predicate
from sparkfuse_rules.rule import HOOK_COLUMNS, Condition, Rule

_OPERATORS: Mapping[type[exp.Expr], str] = {exp.GTE: ">=", exp.GT: ">", exp.LTE: "<=", exp.LT: "<", exp.EQ: "="}


def signal_conditions(rule: Rule) -> tuple[Condition, ...]:
    """Return the rule's ``fuse.needs`` as comparisons of a column with a number.

    Raises RuleError for any other expression, or for a column that the hook does not have.
    """
    needs = rule.fuse.needs if rule.fuse else ()
    return tuple(_condition(rule, f"{rule.file}: fuse.needs[{place}]", text) for place, text in enumerate(needs))


def _condition(rule: Rule, place: str, text: str) -> Condition:
    tree = parse_predicate(place, text, VIEWS["stage_live"], rule.params)
    if type(tree) not in _OPERATORS or not isinstance(tree.this, exp.Column):
        raise RuleError(f"{place}: must compare one column with a number or :param, but is {text!r}")
    if tree.this.name not in HOOK_COLUMNS:
        raise unknown_name(place, "column of the hook", tree.this.name, HOOK_COLUMNS)
    return Condition(tree.this.name, _OPERATORS[type(tree)], _threshold(rule, place, tree.args["expression"]))


def _threshold(rule: Rule, place: str, node: exp.Expr) -> float:
    if isinstance(node, exp.Placeholder):
        return float(rule.params[node.name].value)
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.name)
    raise RuleError(f"{place}: the threshold must be a number or :param, but is {node.sql()!r}")
