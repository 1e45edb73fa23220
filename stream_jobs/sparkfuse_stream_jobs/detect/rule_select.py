"""The one SQL statement that asks all rules of all views about a row.

It keeps nothing, and its result has the same columns whatever rules there are, so that a new rule file never touches
saved state.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.compiler import columns, severity_sql

# Columns that say what is still there after an end (absent before it), and one whose last word comes behind it.
_BEHIND_END = frozenset({"outlived_ms", "unfinished_tasks", "facts_expected"})
_BETWEEN, _IS = ",", "="


def severities_sql(catalog: Catalog) -> str:
    """An expression over the nested rows: ``stage_slow=warning,stage_spill=critical``, empty when no rule holds.

    A rule is asked only on rows of its view, so that a predicate that holds on NULL evidence stays quiet elsewhere.
    """
    if not catalog:
        return "''"
    # CONCAT_WS passes NULL over, and what is appended to NULL is NULL: rules that do not hold leave no trace.
    parts = (
        f"'{rule.id}{_IS}' || CASE WHEN `view` = '{rule.view}' "
        f"THEN {severity_sql(rule, 'flink', view_specs()[rule.view].row)} END"
        for rule in catalog.values()
    )
    return f"CONCAT_WS('{_BETWEEN}', {', '.join(parts)})"


def read_severities(text: str | None) -> Mapping[str, str]:
    """What ``severities_sql`` said of a row, by rule."""
    return dict(part.split(_IS, 1) for part in text.split(_BETWEEN)) if text else {}


def rules_behind_end(catalog: Catalog) -> frozenset[str]:
    """The rules that look at what is still there, or missing, after an end, so that rows behind it count for them."""
    return frozenset(rule.id for rule in catalog.values() if _BEHIND_END & set(columns(rule)))
