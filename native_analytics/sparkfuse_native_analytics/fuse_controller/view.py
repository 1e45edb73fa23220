"""The fuse controller's own view: recent stage rows as Arrow, and the rules as SQL over them in DataFusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import SessionContext

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_kernel import Decoder
from sparkfuse_native_analytics.fuse_controller.rule_match import RuleMatch, Run, Scope
from sparkfuse_rules.compiler import columns, severity_sql
from sparkfuse_rules.describe import placeholders
from sparkfuse_rules.rule import Rule

KEEP_MS = 300_000
# An application without a row for this long does not count as running.
RUNNING_MS = 60_000
_ENVELOPE = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "window_end_ms", "row_seq", "completeness")
_ALWAYS = ("stage_id", "stage_attempt", "name", "status", "elapsed_ms", "disk_spilled_bytes", "since_finish_ms")
_RUN = ("cluster", "app_id", "app_attempt", "app_start_ms")
_STAGE_ROW, _ENDED_ROW = "stage", "application_ended"
# The windows job emits these rows also while the application is silent, so they do not show that it runs.
_NOT_FROM_APPLICATION = ("tick", "application")


class LiveView:
    """Holds the latest row of each stage that changed in the last five minutes. Not safe to share between threads."""

    def __init__(self, rules: Sequence[Rule], fresh_ms: int) -> None:
        """``rules``: rules with a fuse over the view stage_live, each variant on its own.

        A row older than ``fresh_ms`` is not evaluated.
        """
        self._fresh_ms = fresh_ms
        self._decoder = Decoder(descriptor_set(), "sparkfuse.contracts.LiveRow")
        self._columns: tuple[str, ...] = ()
        self._rules: tuple[Rule, ...] = ()
        self._stages: pa.Table | None = None
        self._seen: dict[Run, int] = {}
        self.use(rules)

    def use(self, rules: Sequence[Rule]) -> None:
        """Replace the rules."""
        self._rules = tuple(rules)
        wanted = {name for rule in rules for name in (*columns(rule), *_described(rule))} | set(_ALWAYS)
        chosen = tuple(name for name in VIEWS["stage_live"] if name in wanted)
        if chosen != self._columns:
            self._columns, self._stages = chosen, None

    def add(self, records: Sequence[bytes | None]) -> list[tuple[int, str]]:
        """Add records of the topic ``live``; return index and reason of each record that is not a LiveRow."""
        decoded = self._decoder.decode(records)
        rows = pa.table(decoded.batches)
        self._note_applications(rows)
        stages = rows.filter(pc.equal(rows["row"], _STAGE_ROW))
        sources = {**{name: name for name in _ENVELOPE}, **{name: f"stage_{name}" for name in self._columns}}
        added = pa.table({name: stages[source] for name, source in sources.items()})
        self._stages = added if self._stages is None else pa.concat_tables([self._stages, added])
        return list(decoded.rejected)

    def matches(self, now_ms: int) -> list[RuleMatch]:
        """Evaluate the rules on the latest row of each running stage; one match for each rule variant."""
        self._forget(now_ms)
        if self._stages is None or self._stages.num_rows == 0 or not self._rules:
            return []
        context = SessionContext()
        context.register_record_batches("live", [self._stages.combine_chunks().to_batches()])
        self._stages = context.sql(_latest_sql(now_ms)).to_arrow_table()
        if self._stages.num_rows == 0:
            return []
        context.register_record_batches("latest", [self._stages.combine_chunks().to_batches()])
        rows = context.sql(self._rules_sql(now_ms)).to_pylist()
        return [_rule_match(row, self._rules[row["rule_index"]]) for row in rows]

    def running_applications(self, now_ms: int) -> int:
        """The number of application attempts that sent a row within the last minute and have not ended."""
        return sum(1 for seen_ms in self._seen.values() if now_ms - seen_ms <= RUNNING_MS)

    def _rules_sql(self, now_ms: int) -> str:
        return "\nUNION ALL\n".join(self._rule_sql(*numbered, now_ms) for numbered in enumerate(self._rules))

    def _rule_sql(self, index: int, rule: Rule, now_ms: int) -> str:
        after_ms = rule.fuse.after_ms if rule.fuse else 0
        return (
            f"SELECT * FROM (SELECT {index} AS rule_index, {severity_sql(rule, 'datafusion')} AS severity_of_match, *"
            f" FROM latest WHERE status = 'running' AND window_end_ms >= {now_ms - self._fresh_ms}"
            f" AND elapsed_ms >= {after_ms}) AS judged WHERE severity_of_match IS NOT NULL"
        )

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

    def _forget(self, now_ms: int) -> None:
        self._seen = {run: seen_ms for run, seen_ms in self._seen.items() if now_ms - seen_ms <= KEEP_MS}


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


def _run(row: dict[str, object]) -> Run:
    return Run(
        str(row["cluster"] or ""),
        str(row["app_id"] or ""),
        int(str(row["app_attempt"] or 0)),
        int(str(row["app_start_ms"] or 0)),
    )


def _rule_match(row: dict[str, object], rule: Rule) -> RuleMatch:
    scope = Scope(_run(row), rule.id, int(str(row["stage_id"])), int(str(row["stage_attempt"] or 0)))
    evidence = {name: value for name, value in row.items() if name not in ("rule_index", "severity_of_match")}
    return RuleMatch(scope, rule, str(row["severity_of_match"]), evidence)
