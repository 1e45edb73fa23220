"""Asks the rules of the catalog about the rows of an application, in DataFusion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_rules.compiled import CompiledRule
from sparkfuse_rules.describe import render
from sparkfuse_rules.knowledge.training_samples import capped_severity

SEVERITIES = ("critical", "warning", "info")
# A name may be as long as a log; a reader of findings needs its beginning.
MAX_EVIDENCE = 4000
_PLACE = "place_of_row"
_BY_DURATION = ("stage_live", "app_live")


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


@dataclass(frozen=True)
class Rows:
    """The rows of one application: the views that exist offline as Arrow tables, and the completeness of each row.

    ``job_key`` is what rules that are set otherwise for some jobs ask for.
    """

    views: Mapping[str, Any]
    completeness: Mapping[str, Sequence[float]]
    job_key: str | None = None


def judge(rules: Iterable[CompiledRule], runs: Sequence[Rows]) -> list[list[Finding]]:
    """Ask each rule about each row of its view, and give the findings of each run.

    Worst first, then stages before the whole, then what took longest. What a rule holds for at the end held long
    enough, whatever its ``for``: all is over offline. Severity is capped at warning where evidence is not complete.
    Many runs are asked in one statement for each view, because planning it takes longer than answering it.
    """
    found: list[list[Finding]] = [[] for _ in runs]
    by_view: dict[str, list[CompiledRule]] = {}
    for rule in rules:
        if runs and not undecidable([rule], runs[0].views):
            by_view.setdefault(rule.view, []).append(rule)
    context = _context()
    for view, asked in by_view.items():
        places = [(number, place) for number, run in enumerate(runs) for place in range(run.views[view].num_rows)]
        jobs = [runs[number].job_key for number, _ in places]
        for held in _held(context, view, asked, [run.views[view] for run in runs], jobs) if places else ():
            number, place = places[held[_PLACE]]
            found[number] += _findings(asked, held, view, runs[number], place)
    return [sorted(of_run, key=_rank) for of_run in found]


def _rank(found: Finding) -> tuple[int, bool, int]:
    """A stage that is named says more than the application that it makes late; other views are in order."""
    took = found.row.get("elapsed_ms") if found.rule.view in _BY_DURATION else None
    return SEVERITIES.index(found.severity), "stage_id" not in found.row, -(took or 0)


def undecidable(rules: Iterable[CompiledRule], views: Mapping[str, Any]) -> list[Undecidable]:
    """The rules that cannot be asked: they need columns, or rows, that no event log has."""
    found = []
    for rule in rules:
        if rule.undecidable:
            found.append(Undecidable(rule, f"needs what only a running job tells: {', '.join(rule.undecidable)}"))
        elif rule.view not in views:
            found.append(Undecidable(rule, f"needs the rows of {rule.view}, which no event log has"))
    return found


def _context() -> Any:
    from datafusion import SessionConfig, SessionContext

    # One thread: planning partitions for a handful of rows costs more than the rows.
    return SessionContext(SessionConfig().with_target_partitions(1))


def _findings(
    rules: Sequence[CompiledRule], held: Mapping[str, Any], view: str, run: Rows, place: int
) -> Iterator[Finding]:
    """What the rules that hold for one row found there."""
    row = {name: values[0] for name, values in run.views[view].slice(place, 1).to_pydict().items()}
    share = run.completeness[view][place]
    for number, rule in enumerate(rules):
        if severity := held[f"rule_{number}"]:
            evidence = {name: _shown(row[name]) for name in rule.evidence if row[name] is not None}
            yield Finding(rule, capped_severity(severity, share), row, evidence, share)


def _held(
    context: Any, view: str, rules: Sequence[CompiledRule], tables: Sequence[Any], jobs: Sequence[str | None]
) -> list[dict[str, Any]]:
    """The rows on which a rule holds: their place in all tables, and the severity of each rule by its number."""
    import pyarrow as pa

    needed = list(dict.fromkeys(name for rule in rules for name in rule.evidence))
    rows = pa.concat_tables([table.select(needed) for table in tables])
    numbered = rows.append_column(_PLACE, pa.array(range(rows.num_rows), pa.int64()))
    numbered = numbered.append_column("job_key", pa.array(jobs, pa.string()))
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
