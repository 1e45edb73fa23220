"""The fuse controller's own view: recent rows of `live` as Arrow, and the rules as SQL over them in DataFusion.

The view checks that a finding is consistent. It is no independent evidence, because detection reads the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import SessionContext

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_kernel import Decoder
from sparkfuse_native_analytics.fuse_controller.controller_policy import Variant
from sparkfuse_native_analytics.fuse_controller.finding_registry import MAX_FUTURE_MS
from sparkfuse_native_analytics.fuse_controller.scope import Run, Scope
from sparkfuse_rules.compiler import columns, severity_sql
from sparkfuse_rules.describe import placeholders
from sparkfuse_rules.rule import Rule

KEEP_MS = 300_000
# An application without a row for this long does not count as running.
RUNNING_MS = 60_000
_ENVELOPE = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "window_end_ms", "row_seq", "completeness")
_ALWAYS = ("stage_id", "stage_attempt", "name", "status", "elapsed_ms", "sql_execution_id")
_RUN = ("cluster", "app_id", "app_attempt", "app_start_ms")
_STAGE_ROW, _APPLICATION_ROW, _ENDED_ROW = "stage", "application", "application_ended"
# The windows job emits these rows even if the application sends nothing, so they do not show that the application runs.
_NOT_FROM_APPLICATION = ("tick", _APPLICATION_ROW)
_USER = "application_user_name"
RUNNING = "running"


@dataclass(frozen=True)
class RuleMatch:
    """A variant of a rule that matches on the latest row of a running stage."""

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
class RunningStage:
    """One running stage attempt, with the values that probes need."""

    run: Run
    stage_id: int
    stage_attempt: int
    elapsed_ms: int
    tenant: str


@dataclass(frozen=True)
class Ending:
    """How a run, or one of its stage attempts, ended: succeeded or failed."""

    run: Run
    status: str
    stage: tuple[int, int] | None = None


class LiveView:
    """Keeps the latest row of each stage that changed in the last five minutes. Not safe to share between threads."""

    def __init__(self, variants: Sequence[Variant], fresh_ms: int) -> None:
        """``variants``: rules with a fuse over the view stage_live.

        A row older than ``fresh_ms``, or from the future, is not evaluated.
        """
        self._fresh_ms = fresh_ms
        self._decoder = Decoder(descriptor_set(), "sparkfuse.contracts.LiveRow")
        self._columns: tuple[str, ...] = ()
        self._variants: tuple[Variant, ...] = ()
        self._stages: pa.Table | None = None
        self._seen: dict[Run, int] = {}
        self._users: dict[Run, str] = {}
        self.use(variants)

    def use(self, variants: Sequence[Variant]) -> None:
        """Replace the rules."""
        self._variants = tuple(variants)
        rules = [variant.rule for variant in variants]
        wanted = {name for rule in rules for name in (*columns(rule), *_described(rule))} | set(_ALWAYS)
        chosen = tuple(name for name in VIEWS["stage_live"] if name in wanted)
        if chosen != self._columns:
            self._columns, self._stages = chosen, None

    def add(self, records: Sequence[bytes | None], watched: Iterable[Run] = ()) -> tuple[list[tuple[int, str]],
                                                                                       list[Ending]]:  # fmt: skip
        """Add records of the topic ``live``.

        Returns index and reason of each record that is not a LiveRow, and the endings of the ``watched`` runs.
        """
        decoded = self._decoder.decode(records)
        rows = pa.table(decoded.batches)
        self._note_applications(rows)
        stages = rows.filter(pc.equal(rows["row"], _STAGE_ROW))
        sources = {**{name: name for name in _ENVELOPE}, **{name: f"stage_{name}" for name in self._columns}}
        added = pa.table({name: stages[source] for name, source in sources.items()})
        self._stages = added if self._stages is None else pa.concat_tables([self._stages, added])
        return list(decoded.rejected), _endings(rows, frozenset(watched))

    def evaluate(self, now_ms: int) -> Mapping[Scope, list[RuleMatch]]:
        """Evaluate the rules on the latest row of each running stage; several variants of a rule can match."""
        context = self._latest(now_ms)
        if context is None or not self._variants:
            return {}
        found: dict[Scope, list[RuleMatch]] = {}
        for row in context.sql(self._rules_sql(now_ms)).to_pylist():
            match = _rule_match(row, self._variants[row["rule_index"]])
            found.setdefault(match.scope, []).append(match)
        return found

    def running_stages(self, now_ms: int, after_ms: int, limit: int) -> list[RunningStage]:
        """Return up to ``limit`` stages that have run for ``after_ms``, the longest first."""
        context = self._latest(now_ms)
        if context is None:
            return []
        rows = context.sql(
            f"SELECT {', '.join(_RUN)}, stage_id, stage_attempt, elapsed_ms, tenant FROM latest"
            f" WHERE {self._current_sql(now_ms)} AND elapsed_ms >= {after_ms} ORDER BY elapsed_ms DESC LIMIT {limit}"
        )
        return [
            RunningStage(_run(row), row["stage_id"], row["stage_attempt"] or 0, row["elapsed_ms"], row["tenant"] or "")
            for row in rows.to_pylist()
        ]

    def running_applications(self, now_ms: int) -> Counter[str]:
        """The number of application attempts by cluster that sent a row within the last minute and have not ended."""
        return Counter(run.cluster for run, seen_ms in self._seen.items() if now_ms - seen_ms <= RUNNING_MS)

    def user_of(self, run: Run) -> str | None:
        """Return the user who runs the application; None if no row named the user yet."""
        return self._users.get(run)

    def _latest(self, now_ms: int) -> SessionContext | None:
        """Reduce the rows to the latest one of each stage, and register them as the table ``latest``."""
        self._seen = {run: seen_ms for run, seen_ms in self._seen.items() if now_ms - seen_ms <= KEEP_MS}
        self._users = {run: user for run, user in self._users.items() if run in self._seen}
        if self._stages is None or self._stages.num_rows == 0:
            return None
        context = SessionContext()
        context.register_record_batches("live", [self._stages.combine_chunks().to_batches()])
        self._stages = context.sql(_latest_sql(now_ms)).to_arrow_table()
        if self._stages.num_rows == 0:
            return None
        context.register_record_batches("latest", [self._stages.combine_chunks().to_batches()])
        return context

    def _rules_sql(self, now_ms: int) -> str:
        rules = [variant.rule for variant in self._variants]
        return "\nUNION ALL\n".join(self._rule_sql(*numbered, now_ms) for numbered in enumerate(rules))

    def _rule_sql(self, index: int, rule: Rule, now_ms: int) -> str:
        after_ms = rule.fuse.after_ms if rule.fuse else 0
        return (
            f"SELECT * FROM (SELECT {index} AS rule_index, {severity_sql(rule, 'datafusion')} AS severity_of_match, *"
            f" FROM latest WHERE {self._current_sql(now_ms)} AND elapsed_ms >= {after_ms}) AS evaluated"
            " WHERE severity_of_match IS NOT NULL"
        )

    def _current_sql(self, now_ms: int) -> str:
        earliest, latest = now_ms - self._fresh_ms, now_ms + MAX_FUTURE_MS
        return f"status = '{RUNNING}' AND window_end_ms BETWEEN {earliest} AND {latest}"

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


def _endings(rows: pa.Table, watched: frozenset[Run]) -> list[Ending]:
    """Return how the watched runs and their stages ended, in the order of the rows."""
    if not watched:
        return []
    of_watched = rows.filter(pc.is_in(rows["app_id"], value_set=pa.array([run.app_id for run in watched])))
    wanted = of_watched.select(
        [*_RUN, "row", "stage_stage_id", "stage_stage_attempt", "stage_status", "application_status"]
    )
    found = []
    for row in wanted.to_pylist():
        run, is_stage = _run(row), row["row"] == _STAGE_ROW
        status = row["stage_status"] if is_stage else row["application_status"]
        if run in watched and status not in (None, RUNNING):
            stage = (row["stage_stage_id"], row["stage_stage_attempt"] or 0) if is_stage else None
            found.append(Ending(run, status, stage))
    return found


def _described(rule: Rule) -> Iterable[str]:
    return (name for name, _ in placeholders(rule.description))


def _latest_sql(now_ms: int) -> str:
    return f"""
        SELECT * EXCEPT (place) FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY {", ".join(_RUN)}, stage_id, stage_attempt ORDER BY row_seq DESC, window_end_ms DESC
            ) AS place
            FROM live
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


def _rule_match(row: dict[str, object], variant: Variant) -> RuleMatch:
    scope = Scope(_run(row), variant.rule.id, int(str(row["stage_id"])), int(str(row["stage_attempt"] or 0)))
    evidence = {name: value for name, value in row.items() if name not in ("rule_index", "severity_of_match")}
    return RuleMatch(scope, variant, str(row["severity_of_match"]), evidence)
