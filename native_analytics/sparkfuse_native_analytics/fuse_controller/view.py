"""The fuse controller's own view: keeps recent rows of `live` in Arrow, and evaluates the rules on them in DataFusion.

The view checks that a finding agrees with the latest rows that the controller has read. A match is not independent
evidence, because detection reads the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import SessionContext

from sparkfuse_contracts.columns import VIEWS, view_specs
from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_kernel import Decoder
from sparkfuse_native_analytics.fuse_controller.controller_policy import Variant
from sparkfuse_native_analytics.fuse_controller.finding_registry import MAX_FUTURE_MS
from sparkfuse_native_analytics.fuse_controller.scope import PLACE_FIELDS, Run, Scope
from sparkfuse_rules.compiler import columns, fuse_columns, fuse_when_sql, severity_sql
from sparkfuse_rules.conditions import scope_of_view
from sparkfuse_rules.describe import placeholders
from sparkfuse_rules.rule import Rule

KEEP_MS = 300_000
# An application without a row for this long does not count as running.
RUNNING_MS = 60_000
_ENVELOPE = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "window_end_ms", "row_epoch_ms", "row_seq",
             "completeness")  # fmt: skip
_RUN = ("cluster", "app_id", "app_attempt", "app_start_ms")
_APPLICATION_ROW, _ENDED_ROW = "application", "application_ended"
# The columns of each view that are always kept: those that identify a row within its run, and a few others.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "stage_live": ("stage_id", "stage_attempt"),
    "task_live": ("stage_id", "stage_attempt", "task_id"),
    "query_live": ("query_id",),
    "failure_live": ("stage_id", "stage_attempt", "failure_class"),
    "executor_live": ("executor_id",),
    "executor_loss": ("executor_id",),
    "job_live": ("job_id",),
    "app_live": (),
}
_ALWAYS: Mapping[str, tuple[str, ...]] = {"stage_live": ("name", "sql_execution_id"), "app_live": ("status",)}
# The column with the age of a row's subject. For other views, the controller requires no minimum age.
_AGES: Mapping[str, str] = {
    "stage_live": "elapsed_ms",
    "query_live": "elapsed_ms",
    "app_live": "elapsed_ms",
    "task_live": "age_ms",
    "executor_live": "age_ms",
}
# Views that also contain rows about work that has ended; their rules are evaluated on running work only.
_WITH_STATUS = ("stage_live", "query_live")
# The windows job emits these rows even if the application sends nothing, so they do not show that the application runs.
_NOT_FROM_APPLICATION = ("tick", _APPLICATION_ROW)
_USER = "application_user_name"
RUNNING = "running"
DETECT = "detect"


@dataclass(frozen=True)
class RuleMatch:
    """A variant of a rule that matches on the latest row of its target."""

    scope: Scope
    variant: Variant
    severity: str
    row: Mapping[str, Any]

    @property
    def completeness(self) -> float:
        """Completeness of the evidence, from 0 to 1; 0 if the row has no completeness."""
        found = self.row.get("completeness")
        return 0.0 if found is None else float(found)


@dataclass(frozen=True)
class RunningWork:
    """One running target of a rule, with the values that a probe needs."""

    scope: Scope
    elapsed_ms: int
    tenant: str


@dataclass(frozen=True)
class Ending:
    """The end of a run, stage attempt or query (succeeded or failed), or the sign that a task still runs.

    A row of a task shows that the task runs; a task that sends no more rows has ended.
    """

    run: Run
    status: str
    stage: tuple[int, int] | None = None
    query_id: int | None = None
    task_id: int | None = None
    at_ms: int = 0

    @property
    def of_run(self) -> bool:
        """Whether the whole run ended."""
        return self.stage is None and self.query_id is None and self.task_id is None


class LiveView:
    """Keeps the latest row of each target that changed in the last five minutes. Not safe to share between threads."""

    def __init__(self, variants: Sequence[Variant], fresh_ms: int) -> None:
        """``variants``: rules with a fuse. A row older than ``fresh_ms``, or from the future, is not evaluated."""
        self._fresh_ms = fresh_ms
        self._decoder = Decoder(descriptor_set(), "sparkfuse.contracts.LiveRow")
        self._columns: dict[str, tuple[str, ...]] = {}
        self._variants: tuple[Variant, ...] = ()
        self._predicates: tuple[tuple[str, str], ...] = ()
        self._rows: dict[str, pa.Table] = {}
        self._seen: dict[Run, int] = {}
        self._users: dict[Run, str] = {}
        self.use(variants)

    def use(self, variants: Sequence[Variant]) -> None:
        """Replace the rules."""
        self._variants = tuple(variants)
        rules = [each.rule for each in variants]
        self._predicates = tuple(
            (severity_sql(each, "datafusion"), fuse_when_sql(each, "datafusion")) for each in rules
        )
        chosen = {view: _chosen_columns(view, variants) for view in {variant.rule.view for variant in variants}}
        self._rows = {view: rows for view, rows in self._rows.items() if chosen.get(view) == self._columns.get(view)}
        self._columns = chosen

    def add(self, records: Sequence[bytes | None], watched: Iterable[Run] = ()) -> tuple[list[tuple[int, str]],
                                                                                       list[Ending]]:  # fmt: skip
        """Add records of the topic ``live``; rows of sources are ignored, because their hooks read another cluster.

        Returns the index of each record that is not a LiveRow, with the reason, and the endings of the ``watched``
        runs.
        """
        decoded = self._decoder.decode(records)
        rows = pa.table(decoded.batches)
        rows = rows.filter(pc.equal(pc.fill_null(rows["source"], ""), ""))
        self._note_applications(rows)
        for view, names in self._columns.items():
            row = view_specs()[view].row
            of_view = rows.filter(pc.equal(rows["row"], row))
            sources = {**{name: name for name in _ENVELOPE}, **{name: f"{row}_{name}" for name in names}}
            added = pa.table({name: of_view[source] for name, source in sources.items()})
            known = self._rows.get(view)
            self._rows[view] = added if known is None else pa.concat_tables([known, added])
        return list(decoded.rejected), _endings(rows, frozenset(watched))

    def evaluate(
        self, now_ms: int, stated: Mapping[Scope, Mapping[str, str]] = MappingProxyType({})
    ) -> Mapping[Scope, list[RuleMatch]]:
        """Evaluate the rules on the latest row of each running target; several variants of a rule can match.

        ``stated`` is the evidence of findings. Only the columns that detection adds are read from this evidence,
        because rows of the topic ``live`` lack them. All other columns come from the view's own rows.
        """
        oldest, newest = now_ms - KEEP_MS, now_ms + MAX_FUTURE_MS
        self._seen = {run: seen_ms for run, seen_ms in self._seen.items() if oldest <= seen_ms <= newest}
        self._users = {run: user for run, user in self._users.items() if run in self._seen}
        found: dict[Scope, list[RuleMatch]] = {}
        for view in self._columns:
            latest = self._latest(view, now_ms)
            if latest is not None:
                for match in self._matches(view, with_stated(view, latest, stated), now_ms):
                    found.setdefault(match.scope, []).append(match)
        return found

    def running_work(self, rule: Rule, now_ms: int, limit: int) -> list[RunningWork]:
        """Return up to ``limit`` targets that have run for at least the ``after`` of the policy, longest first."""
        latest = self._latest(rule.view, now_ms)
        if latest is None:
            return []
        names, age = (*_RUN, *_KEYS[rule.view]), _AGES.get(rule.view, "0")
        rows = _context(latest).sql(
            f"SELECT {', '.join(names)}, {age} AS age, tenant FROM latest"
            f" WHERE {self._current_sql(rule, now_ms)} AND {_running_sql(rule)} ORDER BY age DESC LIMIT {limit}"
        )
        return [RunningWork(_scope(row, rule), row["age"], row["tenant"] or "") for row in rows.to_pylist()]

    def running_applications(self, now_ms: int) -> Counter[str]:
        """Return, by cluster, how many application attempts sent a row within the last minute and have not ended."""
        earliest, latest = now_ms - RUNNING_MS, now_ms + MAX_FUTURE_MS
        return Counter(run.cluster for run, seen_ms in self._seen.items() if earliest <= seen_ms <= latest)

    def user_of(self, run: Run) -> str | None:
        """Return the user who runs the application; None if no row named the user yet."""
        return self._users.get(run)

    def _latest(self, view: str, now_ms: int) -> pa.Table | None:
        """Keep only the latest row of each key of a view, and return these rows; None if there are none."""
        rows = self._rows.get(view)
        if rows is None or rows.num_rows == 0:
            return None
        self._rows[view] = _context(rows).sql(_latest_sql(_KEYS[view], now_ms)).to_arrow_table()
        return self._rows[view] if self._rows[view].num_rows else None

    def _matches(self, view: str, latest: pa.Table, now_ms: int) -> Iterator[RuleMatch]:
        of_view = [(index, each.rule) for index, each in enumerate(self._variants) if each.rule.view == view]
        statement = "\nUNION ALL\n".join(self._rule_sql(index, rule, now_ms) for index, rule in of_view)
        for row in _context(latest).sql(statement).to_pylist():
            yield _rule_match(row, self._variants[row["rule_index"]])

    def _rule_sql(self, index: int, rule: Rule, now_ms: int) -> str:
        severity, when = self._predicates[index]
        return (
            f"SELECT * FROM (SELECT {index} AS rule_index, {severity} AS severity_of_match, *"
            f" FROM latest WHERE {self._current_sql(rule, now_ms)} AND {when})"
            " AS evaluated WHERE severity_of_match IS NOT NULL"
        )

    def _current_sql(self, rule: Rule, now_ms: int) -> str:
        earliest, latest = now_ms - self._fresh_ms, now_ms + MAX_FUTURE_MS
        conditions = [f"window_end_ms BETWEEN {earliest} AND {latest}"]
        if rule.view in _WITH_STATUS:
            conditions.append(f"status = '{RUNNING}'")
        if rule.view in _AGES and rule.fuse:
            conditions.append(f"{_AGES[rule.view]} >= {rule.fuse.after_ms}")
        return " AND ".join(conditions)

    def _note_applications(self, rows: pa.Table) -> None:
        other = pc.is_in(rows["row"], value_set=pa.array(_NOT_FROM_APPLICATION))
        named = rows.filter(pc.invert(other)).select([*_RUN, "window_end_ms", "row"])
        ended = pc.equal(named["row"], _ENDED_ROW)
        seen = named.filter(pc.invert(ended)).group_by(list(_RUN)).aggregate([("window_end_ms", "max")])
        for row in seen.to_pylist():
            run = _run(row)
            self._seen[run] = max(self._seen.get(run, 0), row["window_end_ms_max"] or 0)
        for row in named.filter(ended).to_pylist():
            self._seen.pop(_run(row), None)
        of_users = rows.filter(pc.is_valid(rows[_USER])).select([*_RUN, _USER])
        self._users.update(
            (_run(row), row[_USER]) for row in of_users.group_by([*_RUN, _USER]).aggregate([]).to_pylist()
        )


def with_stated(view: str, latest: pa.Table, stated: Mapping[Scope, Mapping[str, str]]) -> pa.Table:
    """Add the columns that detection adds to each row, from the evidence of a finding about the same target."""
    added = [name for name in latest.column_names if name in VIEWS[view] and DETECT in VIEWS[view][name].tags]
    scope_name = scope_of_view(view)
    if not added or not stated or scope_name is None:
        return latest
    fields = PLACE_FIELDS[scope_name]
    by_place: dict[tuple[object, ...], dict[str, str]] = {}
    for scope, evidence in stated.items():
        by_place.setdefault((scope.run, *(getattr(scope, name) for name in fields)), {}).update(evidence)
    keys = [(_run(row), *(row[name] for name in fields)) for row in latest.select([*_RUN, *fields]).to_pylist()]
    for name in added:
        texts = [by_place.get(key, {}).get(name) for key in keys]
        values = pa.array([_typed(VIEWS[view][name].type, text) for text in texts], latest.schema.field(name).type)
        latest = latest.set_column(latest.column_names.index(name), name, values)
    return latest


def _typed(kind: str, text: str | None) -> str | float | int | bool | None:
    if text is None or kind == "string":
        return text
    if kind == "bool":
        return text == "true"
    try:
        value = float(text) if kind == "double" else int(text)
    except ValueError:  # a value that is not a number counts as absent, so the rule does not match
        return None
    return value if isinstance(value, float) or -(2**63) <= value < 2**63 else None


def _endings(rows: pa.Table, watched: frozenset[Run]) -> list[Ending]:
    """Return, in the order of the rows, how watched runs, their stages and their queries ended, and which tasks run."""
    if not watched:
        return []
    of_watched = rows.filter(pc.is_in(rows["app_id"], value_set=pa.array([run.app_id for run in watched])))
    wanted = of_watched.select(
        [*_RUN, "row", "window_end_ms", "stage_stage_id", "stage_stage_attempt", "stage_status", "query_query_id",
         "query_status", "task_task_id", "application_status"]
    )  # fmt: skip
    found = (_ending(row) for row in wanted.to_pylist())
    return [ending for ending in found if ending is not None and ending.run in watched]


def _ending(row: Mapping[str, Any]) -> Ending | None:
    run, kind, at_ms = _run(row), row["row"], row["window_end_ms"] or 0
    if kind == "task":
        return Ending(run, RUNNING, task_id=row["task_task_id"], at_ms=at_ms)
    status = row.get(f"{kind}_status") if kind in ("stage", "query", "application") else None
    if status in (None, RUNNING):
        return None
    stage = (row["stage_stage_id"], row["stage_stage_attempt"] or 0) if kind == "stage" else None
    return Ending(run, status, stage, row["query_query_id"] if kind == "query" else None, at_ms=at_ms)


def _chosen_columns(view: str, variants: Sequence[Variant]) -> tuple[str, ...]:
    rules = [variant.rule for variant in variants if variant.rule.view == view]
    wanted = {name for rule in rules for name in (*columns(rule), *fuse_columns(rule), *_described(rule))}
    always = (*_KEYS[view], *_ALWAYS.get(view, ()), *(("status",) if view in _WITH_STATUS else ()))
    wanted |= {*always, *((_AGES[view],) if view in _AGES else ())}
    return tuple(name for name in VIEWS[view] if name in wanted)


def _described(rule: Rule) -> Iterable[str]:
    return (name for name, _ in placeholders(rule.description))


def _context(rows: pa.Table) -> SessionContext:
    """Return a context with the rows as the table ``latest``."""
    context = SessionContext()
    context.register_record_batches("latest", [rows.combine_chunks().to_batches()])
    return context


def _running_sql(rule: Rule) -> str:
    """Return a condition for running applications, because some rules also evaluate processes of ended applications."""
    return f"status = '{RUNNING}'" if rule.view == "app_live" else "TRUE"


def _latest_sql(keys: Sequence[str], now_ms: int) -> str:
    return f"""
        SELECT * EXCEPT (place) FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY {", ".join((*_RUN, *keys))}
                ORDER BY COALESCE(row_epoch_ms, 0) DESC, row_seq DESC, window_end_ms DESC
            ) AS place
            FROM latest
        ) AS numbered
        WHERE place = 1 AND window_end_ms >= {now_ms - KEEP_MS}
    """


def _run(row: Mapping[str, object]) -> Run:
    return Run(
        str(row["cluster"] or ""),
        str(row["app_id"] or ""),
        int(str(row["app_attempt"] or 0)),
        int(str(row["app_start_ms"] or 0)),
    )


def _scope(row: Mapping[str, Any], rule: Rule) -> Scope:
    fields = PLACE_FIELDS[scope_of_view(rule.view) or "application"]
    return Scope(_run(row), rule.id, **{name: row[name] or 0 for name in fields})


def _rule_match(row: dict[str, Any], variant: Variant) -> RuleMatch:
    evidence = {name: value for name, value in row.items() if name not in ("rule_index", "severity_of_match")}
    return RuleMatch(_scope(row, variant.rule), variant, str(row["severity_of_match"]), evidence)
