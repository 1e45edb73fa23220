"""Evaluates the rules of the catalog on the rows of applications, with DataFusion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.offline.view_rows import ViewRows
from sparkfuse_rules.compiled import CompiledRule
from sparkfuse_rules.describe import render
from sparkfuse_rules.knowledge.training_samples import capped_severity

SEVERITIES = ("critical", "warning", "info")
# Maximum length of a text in the evidence of a finding, because texts in a log can be very long.
MAX_EVIDENCE = 4000
_ROW_NUMBER = "row_number_of_all"
_BY_DURATION = ("stage_live", "app_live")


@dataclass(frozen=True)
class Finding:
    """A rule that matches one row. ``evidence`` contains the values of the columns that the rule mentions."""

    rule: CompiledRule
    severity: str
    row: Mapping[str, Any]
    evidence: Mapping[str, Any]
    completeness: float

    @property
    def description(self) -> str:
        """The rule's description with the values of the row filled in."""
        return render(self.rule.description, self.row)


@dataclass(frozen=True)
class Undecidable:
    """A rule that cannot be evaluated on event logs, and the reason. Whether this rule matches is unknown."""

    rule: CompiledRule
    reason: str


def evaluate(rules: Iterable[CompiledRule], runs: Sequence[ViewRows]) -> list[list[Finding]]:
    """Evaluate each rule on each row of its view, and return the findings of each run.

    Findings are sorted by severity, then by scope (stages before the application), then by duration (the longest
    first). The ``for`` of a rule is ignored, because the rows of a finished run no longer change. If the evidence is
    not complete, the severity is at most warning. One SQL statement for each view covers many runs, because planning a
    statement takes longer than running it.
    """
    found: list[list[Finding]] = [[] for _ in runs]
    by_view: dict[str, list[CompiledRule]] = {}
    for rule in rules:
        if runs and not undecidable([rule], runs[0].views):
            by_view.setdefault(rule.view, []).append(rule)
    context = _context()
    for view, rules_of_view in by_view.items():
        places = [(number, row) for number, run in enumerate(runs) for row in range(run.views[view].num_rows)]
        jobs = [runs[number].job_key for number, _ in places]
        tables = [run.views[view] for run in runs]
        for match in _matches(context, view, rules_of_view, tables, jobs) if places else ():
            number, row = places[match[_ROW_NUMBER]]
            found[number] += _findings(rules_of_view, match, view, runs[number], row)
    return [sorted(of_run, key=_rank) for of_run in found]


def _rank(found: Finding) -> tuple[int, bool, int]:
    """Return the sort key of a finding: severity, then stages before the application, then the longest duration first.

    Findings of views without a duration keep their order.
    """
    elapsed = found.row.get("elapsed_ms") if found.rule.view in _BY_DURATION else None
    return SEVERITIES.index(found.severity), "stage_id" not in found.row, -(elapsed or 0)


def undecidable(rules: Iterable[CompiledRule], views: Mapping[str, Any]) -> list[Undecidable]:
    """Return the rules that cannot be evaluated, because they need columns or views that no event log can fill."""
    found = []
    for rule in rules:
        if rule.undecidable:
            columns = ", ".join(rule.undecidable)
            found.append(Undecidable(rule, f"needs columns that exist only while an application runs: {columns}"))
        elif rule.view not in views:
            found.append(Undecidable(rule, f"needs the view {rule.view}, which no event log can fill"))
    return found


def _context() -> Any:
    from datafusion import SessionConfig, SessionContext

    # One partition is used: with few rows, planning more partitions takes more time than it saves.
    return SessionContext(SessionConfig().with_target_partitions(1))


def _findings(
    rules: Sequence[CompiledRule], match: Mapping[str, Any], view: str, run: ViewRows, row_number: int
) -> Iterator[Finding]:
    """Yield the findings of the rules that match one row."""
    row = {name: values[0] for name, values in run.views[view].slice(row_number, 1).to_pydict().items()}
    share = run.completeness[view][row_number]
    for number, rule in enumerate(rules):
        if severity := match[f"rule_{number}"]:
            evidence = {name: _shown(row[name]) for name in rule.evidence if row[name] is not None}
            yield Finding(rule, capped_severity(severity, share), row, evidence, share)


def _matches(
    context: Any, view: str, rules: Sequence[CompiledRule], tables: Sequence[Any], jobs: Sequence[str | None]
) -> list[dict[str, Any]]:
    """Return the rows that match a rule: the row's number, counted over all tables, and its severity for each rule."""
    import pyarrow as pa

    needed = list(dict.fromkeys(name for rule in rules for name in rule.evidence))
    rows = pa.concat_tables([table.select(needed) for table in tables])
    numbered = rows.append_column(_ROW_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    numbered = numbered.append_column("job_key", pa.array(jobs, pa.string()))
    context.register_record_batches(view, [numbered.combine_chunks().to_batches()])
    names = [f"rule_{number}" for number in range(len(rules))]
    severities = ", ".join(f"{rule.severity_sql} AS {name}" for rule, name in zip(rules, names, strict=True))
    some = " OR ".join(f"{name} IS NOT NULL" for name in names)
    sql = (
        f"SELECT * FROM (SELECT {_ROW_NUMBER}, {severities} FROM {view}) AS judged WHERE {some} ORDER BY {_ROW_NUMBER}"
    )
    found: list[dict[str, Any]] = context.sql(sql).to_pylist()
    return found


def _shown(value: Any) -> Any:
    """Return a value for the evidence: infinity and NaN become strings, because JSON lacks them; long text is cut."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value[:MAX_EVIDENCE] if isinstance(value, str) else value
