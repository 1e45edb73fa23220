"""Build the addresses of runbooks, and find the SQL queries in their text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUERY = re.compile(r"^ *```sql\n(.*?)^ *```(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def rule_runbook_url(base: str, rule_id: str) -> str:
    """Return the address of a rule's runbook; ``base`` is the address at which the folder ``docs`` is published."""
    return f"{base.rstrip('/')}/rules/{rule_id}.md#runbook"


def runbook_page_url(base: str, page: str, alert: str) -> str:
    """Return the address of the runbook for an alert about Sparkfuse itself; ``page`` is pipeline or fuse."""
    return f"{base.rstrip('/')}/runbooks/{page}.md#{alert.lower()}"


def queries(runbook: str) -> Sequence[str]:
    """Return the SQL queries of a runbook in Markdown."""
    return [found[1] for found in _QUERY.finditer(runbook)]


def without_queries(runbook: str) -> str:
    """Return a runbook without its SQL queries, because an analysis of event logs has no store to query."""
    return _QUERY.sub("", runbook).strip()
