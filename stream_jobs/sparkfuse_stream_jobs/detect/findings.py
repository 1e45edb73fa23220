"""Creates the finding of a rule that matches a row; the finding contains only the run of that row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_contracts.columns import view_specs
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.compiler import columns
from sparkfuse_rules.describe import placeholders, render
from sparkfuse_rules.knowledge.stage_names import query_id_of
from sparkfuse_rules.owners import Owners
from sparkfuse_rules.prices import Prices
from sparkfuse_rules.rule import Rule
from sparkfuse_rules.runbooks import rule_runbook_url
from sparkfuse_stream_jobs.detect.finding_costs import fill_costs
from sparkfuse_stream_jobs.detect.row_columns import present
from sparkfuse_stream_jobs.detect.subjects import scope

MAX_EVIDENCE = 4000  # Limit of characters of one value. Collectors shorten stack traces, but not every name.
# Columns that are evidence even if the rule does not mention them, because runbooks refer to them.
_ALWAYS = ("stack",)
_LOCATION = ("stage_id", "stage_attempt", "task_id", "executor_id")
# Columns that must not identify a location, because the executor of failed tasks changes with each failure.
_NOT_LOCATION: Mapping[str, tuple[str, ...]] = {"failure_live": ("executor_id",)}


def finding_id(cluster: str, tenant: str, job_key: str, rule_id: str, scope: str) -> str:
    """Return the id of a finding, which is the same for every run of the job: 16 hex digits of SHA-256.

    Cluster and tenant are part of the hash, because two tenants may have jobs of the same name.
    """
    parts = f"{cluster}\n{tenant}\n{job_key}\n{rule_id}\n{scope}"
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class FindingBuilder:
    """Creates findings of the rules in ``catalog``."""

    catalog: Catalog
    evidence: Mapping[str, tuple[str, ...]]
    runbooks: str
    owners: Owners
    prices: Prices | None = None

    @classmethod
    def of(cls, catalog: Catalog, runbooks: str, owners: Owners, prices: Prices | None = None) -> FindingBuilder:
        """Return a builder; ``runbooks`` is the base URL of the runbooks, ``owners`` maps jobs to owners."""
        return cls(catalog, {rule.id: _evidence_columns(rule) for rule in catalog.values()}, runbooks, owners, prices)

    def __call__(self, rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        """Return the finding, firing since ``started_ms``; its evidence is every column that the rule mentions."""
        general, found_in = self.catalog[rule_id], scope(row)
        rule = general.for_job(row.job_key) or general  # the rule with the thresholds for this job
        values = present(getattr(row, view_specs()[rule.view].row))
        finding = Finding(
            finding_id=finding_id(row.cluster, row.tenant, row.job_key, rule_id, found_in),
            rule=rule_id,
            severity=severity,
            state="firing",
            job_key=row.job_key,
            scope=found_in,
            summary=rule.summary,
            description=render(rule.description, values),
            runbook_url=rule_runbook_url(self.runbooks, rule_id),
            started_ms=started_ms,
            evidence_ms=row.window_end_ms,
            precision_target=rule.precision_target,
            runs=[_run(row, values, self.evidence[rule_id], severity, started_ms)],
        )
        for name in ("cluster", "tenant", "completeness"):
            if row.HasField(name):
                setattr(finding, name, getattr(row, name))
        for tag, mapped in zip(("owner", "team"), self.owners.of(row.job_key), strict=True):
            if value := getattr(row, tag) or mapped:
                setattr(finding, tag, value)
        if self.prices is not None and fill_costs(finding.runs[0], row, self.prices):
            finding.currency = self.prices.currency
        return finding


def _evidence_columns(rule: Rule) -> tuple[str, ...]:
    mentioned = {*columns(rule), *(name for name, _ in placeholders(rule.description)), *_ALWAYS}
    return tuple(name for name in view_specs()[rule.view].columns if name in mentioned)


def _run(
    row: LiveRow, values: Mapping[str, Any], mentioned: tuple[str, ...], severity: str, started_ms: int
) -> FindingRun:
    run = FindingRun(
        run_key=row.run_key,
        app_id=row.app_id,
        app_attempt=row.app_attempt,
        app_start_ms=row.app_start_ms,
        state="firing",
        severity=severity,
        started_ms=started_ms,
        evidence={name: evidence_text(values[name]) for name in mentioned if name in values},
    )
    _fill_names(run, values)
    for name in _LOCATION:
        if name in values and name not in _NOT_LOCATION.get(row.view, ()):
            setattr(run, name, values[name])
    return run


def _fill_names(run: FindingRun, values: Mapping[str, Any]) -> None:
    """Add the name of the stage, and the query; the names of stages and failed queries begin with the query."""
    stage_name = values.get("stage_name", "")
    named = query_id_of(stage_name or values.get("description", ""))
    query_id = values.get("query_id", values.get("sql_execution_id", named))
    if stage_name:
        run.stage_name = stage_name
    if query_id is not None:
        run.query_id = query_id


def evidence_text(value: object) -> str:
    """Return a value as evidence: an exact number, true or false for flags, at most ``MAX_EVIDENCE`` characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return (f"{value:.6g}" if isinstance(value, float) else str(value))[:MAX_EVIDENCE]
