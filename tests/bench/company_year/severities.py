"""Evaluates the rules about expected values on many rows at once, with the SQL that offline analysis uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_rules.compiled import CompiledRule, rules_offline

STAGES, APPLICATIONS = "stage_live", "app_live"
# A rule that reads one of these columns is about baselines.
_OF_BASELINES = {"expected_ms", "baseline_runs"}
ALERTING = ("warning", "critical")


def baseline_rules() -> tuple[CompiledRule, ...]:
    """Return the rules of the catalog that compare a stage or an application with its baseline."""
    return tuple(
        rule for rule in rules_offline() if rule.view in (STAGES, APPLICATIONS) and _OF_BASELINES & set(rule.evidence)
    )


class SeverityQuery:
    """One SQL statement for each view, planned once for each batch of rows."""

    def __init__(self, rules: Iterable[CompiledRule]) -> None:
        from datafusion import SessionConfig, SessionContext

        self._context = SessionContext(SessionConfig().with_target_partitions(1))
        self._rules = {view: [rule for rule in rules if rule.view == view] for view in (STAGES, APPLICATIONS)}

    def evaluate(self, view: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        """Return for each row the severity of each rule that matches with a warning or a page."""
        import pyarrow as pa

        rules, found = self._rules[view], [dict[str, str]() for _ in rows]
        if not rows or not rules:
            return found
        types = {"string": pa.string(), "bool": pa.bool_(), "double": pa.float64()}
        needed = list(dict.fromkeys(name for rule in rules for name in rule.evidence))
        arrays = [pa.array([row.get(name) for row in rows], types.get(VIEWS[view][name].type, pa.int64()))
                  for name in needed]  # fmt: skip
        numbers, jobs = pa.array(range(len(rows)), pa.int64()), pa.nulls(len(rows), pa.string())
        batch = pa.record_batch([*arrays, numbers, jobs], names=[*needed, "place", "job_key"])
        self._context.register_record_batches(view, [[batch]])
        columns = ", ".join(f"{rule.severity_sql} AS rule_{place}" for place, rule in enumerate(rules))
        some = " OR ".join(f"rule_{place} IS NOT NULL" for place in range(len(rules)))
        sql = f"SELECT * FROM (SELECT place, {columns} FROM {view}) AS judged WHERE {some}"
        for match in self._context.sql(sql).to_pylist():
            severities = {rule.id: match[f"rule_{place}"] for place, rule in enumerate(rules)}
            found[match["place"]] = {name: each for name, each in severities.items() if each in ALERTING}
        self._context.deregister_table(view)
        return found
