"""Words what a rule found on a row, as the finding of one run."""

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
from sparkfuse_rules.owners import Owners
from sparkfuse_rules.rule import Rule
from sparkfuse_stream_jobs.detect.rows import present
from sparkfuse_stream_jobs.detect.scopes import scope

MAX_EVIDENCE = 4000  # characters of one column: a stack is capped by its collector, a name by nobody
RUNBOOK = "{base}/rules/{rule}#runbook"
# What the runbooks send people to, whether the predicate reads it or not.
_ALWAYS = ("stack",)
_WHERE = ("stage_id", "stage_attempt", "task_id", "executor_id")
# Columns that are no place: the executor of failed tasks is that of the last one, another one in the next window.
_NO_PLACE: Mapping[str, tuple[str, ...]] = {"failure_live": ("executor_id",)}


def finding_id(cluster: str, tenant: str, job_key: str, rule_id: str, scope: str) -> str:
    """The alert's fingerprint, the same for every run of the job: 16 hex digits of SHA-256.

    Two tenants, or two clusters, may have jobs of one name: their findings are never one.
    """
    parts = f"{cluster}\n{tenant}\n{job_key}\n{rule_id}\n{scope}"
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Writer:
    """Words findings of the rules in ``catalog``."""

    catalog: Catalog
    evidence: Mapping[str, tuple[str, ...]]
    runbooks: str
    owners: Owners

    @classmethod
    def of(cls, catalog: Catalog, runbooks: str, owners: Owners) -> Writer:
        """A writer that knows which columns each rule looks at, where runbooks are read, and whose the jobs are."""
        return cls(catalog, {rule.id: _evidence_columns(rule) for rule in catalog.values()}, runbooks, owners)

    def __call__(self, rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        """The finding of the row's run, firing since ``started_ms``; evidence is each column that the rule mentions."""
        known, found_in = self.catalog[rule_id], scope(row)
        rule = known.for_job(row.job_key) or known  # with the thresholds that hold for this job
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
            runbook_url=RUNBOOK.format(base=self.runbooks, rule=rule_id),
            started_ms=started_ms,
            evidence_ms=row.window_end_ms,
            runs=[_run(row, values, self.evidence[rule_id], severity, started_ms)],
        )
        for name in ("cluster", "tenant", "completeness"):
            if row.HasField(name):
                setattr(finding, name, getattr(row, name))
        for tag, mapped in zip(("owner", "team"), self.owners.of(row.job_key), strict=True):
            if said := getattr(row, tag) or mapped:
                setattr(finding, tag, said)
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
        evidence={name: text(values[name]) for name in mentioned if name in values},
    )
    for name in _WHERE:
        if name in values and name not in _NO_PLACE.get(row.view, ()):
            setattr(run, name, values[name])
    return run


def text(value: object) -> str:
    """A value as evidence shows it: exact, true or false for flags, capped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return (f"{value:.6g}" if isinstance(value, float) else str(value))[:MAX_EVIDENCE]
