"""Asks the rules of the catalog about the rows of an application, in DataFusion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_rules.compiled import CompiledRule
from sparkfuse_rules.describe import render
from sparkfuse_rules.knowledge.lessons import gated

SEVERITIES = ("critical", "warning", "info")
# A name may be as long as a log; a reader of findings needs its beginning.
MAX_EVIDENCE = 4000
_PLACE = "place_of_row"


@dataclass(frozen=True)
class Finding:
    """What a rule found on one row. ``evidence`` are the columns that the rule mentions, as they are."""

    rule: CompiledRule
    severity: str
    row: Mapping[str, Any]
    evidence: Mapping[str, Any]
    completeness: float

    @property
    def description(self) -> str:
        """The rule's sentence with the row's numbers."""
        return render(self.rule.description, self.row)


@dataclass(frozen=True)
class Undecidable:
    """A rule that event logs cannot answer, and why: neither a finding nor a clean bill."""

    rule: CompiledRule
    reason: str


def judge(
    rules: Iterable[CompiledRule], views: Mapping[str, Any], completeness: Mapping[str, Sequence[float]]
) -> list[Finding]:
    """Ask each rule about each row of its view; worst first, then stages before the whole, then what took longest.

    ``views`` holds the views that exist at rest as Arrow tables, ``completeness`` the share of evidence of each of
    their rows. What a rule holds for at the end held long enough, whatever its ``for``: all is over at rest.
    Severity is capped at warning where the evidence is not complete.
    """
    by_view: dict[str, list[CompiledRule]] = {}
    for rule in rules:
        if not undecidable([rule], views):
            by_view.setdefault(rule.view, []).append(rule)
    context = _context()
    found = [
        finding
        for view, asked in by_view.items()
        for finding in _of_view(context, view, asked, views[view], completeness[view])
    ]
    return sorted(found, key=_rank)


def _rank(found: Finding) -> tuple[int, bool, int]:
    """A stage that is named says more than the application that it makes late."""
    return SEVERITIES.index(found.severity), "stage_id" not in found.row, -(found.row.get("elapsed_ms") or 0)


def undecidable(rules: Iterable[CompiledRule], views: Mapping[str, Any]) -> list[Undecidable]:
    """The rules that cannot be asked: they need columns, or rows, that no event log has."""
    found = []
    for rule in rules:
        if rule.undecidable:
            found.append(Undecidable(rule, f"needs what only a running job tells: {', '.join(rule.undecidable)}"))
        elif rule.view not in views:
            found.append(Undecidable(rule, f"needs the rows of {rule.view}, which only a running job has"))
    return found


def _context() -> Any:
    from datafusion import SessionConfig, SessionContext

    # One thread: planning partitions for a handful of rows costs more than the rows.
    return SessionContext(SessionConfig().with_target_partitions(1))


def _of_view(
    context: Any, view: str, rules: Sequence[CompiledRule], rows: Any, completeness: Sequence[float]
) -> list[Finding]:
    if not rows.num_rows:
        return []
    found = []
    for held in _held(context, view, rules, rows):
        place = held[_PLACE]
        row = {name: values[0] for name, values in rows.slice(place, 1).to_pydict().items()}
        for number, rule in enumerate(rules):
            if severity := held[f"rule_{number}"]:
                share = completeness[place]
                evidence = {name: _shown(row[name]) for name in rule.evidence if row[name] is not None}
                found.append(Finding(rule, gated(severity, share), row, evidence, share))
    return found


def _held(context: Any, view: str, rules: Sequence[CompiledRule], rows: Any) -> list[dict[str, Any]]:
    """The rows on which a rule holds: their place, and the severity of each rule by its number."""
    import pyarrow as pa

    needed = dict.fromkeys(name for rule in rules for name in rule.evidence)
    numbered = rows.select(list(needed)).append_column(_PLACE, pa.array(range(rows.num_rows), pa.int64()))
    context.register_record_batches(view, [numbered.combine_chunks().to_batches()])
    names = [f"rule_{number}" for number in range(len(rules))]
    severities = ", ".join(f"{rule.severity_sql} AS {name}" for rule, name in zip(rules, names, strict=True))
    some = " OR ".join(f"{name} IS NOT NULL" for name in names)
    sql = f"SELECT * FROM (SELECT {_PLACE}, {severities} FROM {view}) AS judged WHERE {some} ORDER BY {_PLACE}"
    found: list[dict[str, Any]] = context.sql(sql).to_pylist()
    return found


def _shown(value: Any) -> Any:
    """A value as evidence holds it: JSON has no infinity, and text is capped."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value[:MAX_EVIDENCE] if isinstance(value, str) else value
