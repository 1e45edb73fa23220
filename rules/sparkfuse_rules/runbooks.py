"""Build the addresses of runbooks, and find the SQL queries in their text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIRST_STEP = re.compile(r"^1\. (.*?)(?=^\d+\. |\Z)", re.DOTALL | re.MULTILINE)
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


def first_step(runbook: str) -> str:
    """Return the first step of a runbook in Markdown on one line, up to its first query; empty if it has no steps.

    A last sentence that only introduces the query is left out.
    """
    found = _FIRST_STEP.search(_QUERY.split(runbook, maxsplit=1)[0])
    step = " ".join(found[1].split()) if found else ""
    return step.rpartition(". ")[0] + "." if step.endswith(":") and ". " in step else step
