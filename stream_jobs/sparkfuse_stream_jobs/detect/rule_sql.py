"""The SQL expression that evaluates all rules on a row.

The expression is stateless, and its result has the same columns for any set of rules, so a new rule file never affects
saved state.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.compiler import columns, severity_sql

# Columns that are set only after an end and describe what still runs, and ``facts_expected``, whose last value comes
# after the end.
_POST_END_COLUMNS = frozenset({"outlived_ms", "unfinished_tasks", "facts_expected"})
_SEPARATOR, _EQUALS = ",", "="


def severities_sql(catalog: Catalog) -> str:
    """Return an expression such as ``stage_slow=warning,stage_spill=critical``; its value is empty if no rule matches.

    A rule is evaluated on rows of its view only, so that a predicate that is true for NULL does not match other rows.
    """
    if not catalog:
        return "''"
    # CONCAT_WS skips NULL, and a string appended to NULL is NULL: rules that do not match add nothing to the result.
    terms = (
        f"'{rule.id}{_EQUALS}' || CASE WHEN `view` = '{rule.view}' "
        f"THEN {severity_sql(rule, 'flink', view_specs()[rule.view].row)} END"
        for rule in catalog.values()
    )
    return f"CONCAT_WS('{_SEPARATOR}', {', '.join(terms)})"


def read_severities(text: str | None) -> Mapping[str, str]:
    """Return the severities by rule from the value of ``severities_sql``."""
    return dict(part.split(_EQUALS, 1) for part in text.split(_SEPARATOR)) if text else {}


def post_end_rules(catalog: Catalog) -> frozenset[str]:
    """Return the rules that are also evaluated after an end, because they report work that still runs or is missing."""
    return frozenset(rule.id for rule in catalog.values() if _POST_END_COLUMNS & set(columns(rule)))
