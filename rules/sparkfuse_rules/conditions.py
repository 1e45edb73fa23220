"""Convert ``fuse.needs`` to the conditions of a policy, which the hook checks against its own counters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from sparkfuse_contracts.columns import VIEWS, Column
from sparkfuse_contracts.generated import hook_counters
from sparkfuse_rules.errors import RuleError, unknown_name
from sparkfuse_rules.predicate import parse_expression, parse_predicate
from sparkfuse_rules.rule import EXTERNAL_STOP, Condition, Rule

# The scopes of policies, narrowest first. A policy may use the counters of its own scope and of wider scopes.
SCOPES = ("task", "stage", "query", "application")
_OPERATORS: Mapping[type[exp.Expr], str] = {exp.GTE: ">=", exp.GT: ">", exp.LTE: "<=", exp.LT: "<", exp.EQ: "="}
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "=": operator.eq,
}
_ARITHMETIC: Mapping[type[exp.Expr], Callable[[float, float], float]] = {
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}


def scope_of_view(view: str) -> str | None:
    """Return the scope of policies of rules on this view; None if the rows of the view name no target for an act."""
    return next((each.scope for each in hook_counters.SCOPES if each.view == view), None)


def counters_of(scope: str) -> Mapping[str, Column]:
    """Return the counters of the hook that a policy of this scope may use, as columns."""
    usable = SCOPES[SCOPES.index(scope) :]
    counters = (each for each in hook_counters.COUNTERS if each.scope in usable)
    return {each.name: Column(each.name, "int64", each.unit, each.meaning, ()) for each in counters}


def evidence_of(view: str, actions: Sequence[str]) -> Mapping[str, Column]:
    """Return the columns that the conditions of a policy may use.

    The hook has its own counters. The external actuator has only the latest row of the application.
    """
    if tuple(actions) == (EXTERNAL_STOP,):
        return VIEWS["app_live"]
    return counters_of(scope_of_view(view) or SCOPES[-1])


def signal_conditions(rule: Rule) -> tuple[Condition, ...]:
    """Return the rule's ``fuse.needs`` as comparisons of a counter with a number.

    Raises RuleError for any other expression, or for a counter that the hook does not have in the scope of the rule.
    """
    needs = rule.fuse.needs if rule.fuse else ()
    return tuple(_condition(rule, f"{rule.file}: fuse.needs[{place}]", text) for place, text in enumerate(needs))


def conditions_hold(conditions: Sequence[Condition], counters: Mapping[str, float]) -> bool:
    """Return whether all conditions are true; a condition on an absent counter is false."""
    return all(
        each.column in counters and COMPARISONS[each.operator](counters[each.column], each.threshold)
        for each in conditions
    )


def _condition(rule: Rule, place: str, text: str) -> Condition:
    counters = evidence_of(rule.view, rule.fuse.actions if rule.fuse else ())
    used = _compared_name(place, text)
    if used not in counters:
        raise unknown_name(place, "counter of the hook", used, counters)
    tree = parse_predicate(place, text, counters, rule.params)
    return Condition(used, _OPERATORS[type(tree)], _threshold(rule, place, tree.args["expression"]))


def _compared_name(place: str, text: str) -> str:
    """Return the name on the left of a comparison. Raises RuleError if the text is not a comparison."""
    tree = parse_expression(place, text)
    if type(tree) not in _OPERATORS or not isinstance(tree.this, exp.Column):
        raise RuleError(f"{place}: must compare one counter with a number or :param, but is {text!r}")
    return tree.this.name


def _threshold(rule: Rule, place: str, node: exp.Expr) -> float:
    if isinstance(node, exp.Placeholder):
        return float(rule.params[node.name].value)
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.name)
    if isinstance(node, exp.Paren):
        return _threshold(rule, place, node.this)
    if type(node) in _ARITHMETIC:
        left, right = (_threshold(rule, place, each) for each in (node.this, node.expression))
        try:
            return _ARITHMETIC[type(node)](left, right)
        except ZeroDivisionError as error:
            raise RuleError(f"{place}: the threshold {node.sql()!r} divides by zero") from error
    raise RuleError(f"{place}: the threshold must consist of numbers and :params, but is {node.sql()!r}")
