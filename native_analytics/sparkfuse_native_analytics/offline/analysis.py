"""Analyzes applications: evaluates the rules and builds the JSON object that `sparkfuse analyze --json` prints.

contracts/documents/analysis.proto defines the object. Tests validate real output against the JSON Schema that is
generated from this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sparkfuse_contracts.generated.view_rows import AppLiveRow, StageLiveRow
from sparkfuse_native_analytics.event_logs.table_rows import Distribution
from sparkfuse_native_analytics.offline import job_rows
from sparkfuse_native_analytics.offline.analysis_types import (
    AnalysedApplication,
    AnalysedExecutor,
    AnalysedJob,
    AnalysedStage,
    Analysis,
    AnalysisEvidence,
    AnalysisFinding,
    MalformedLine,
)
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
from sparkfuse_native_analytics.offline.evaluate import Finding, evaluate, undecidable
from sparkfuse_native_analytics.offline.expectations import application_expectation, stage_expectations
from sparkfuse_native_analytics.offline.finding_groups import FindingGroup, group_findings
from sparkfuse_native_analytics.offline.queries import queries
from sparkfuse_native_analytics.offline.view_rows import ViewRows, view_rows
from sparkfuse_rules.compiled import CompiledRule

# Limits of a batch of applications that are evaluated together: their number, and the total size of their logs.
MAX_BATCH = 64
MAX_BATCH_BYTES = 64_000_000
_FACTS = ("job_id", "sql_execution_id", "started_tasks")
_SUMS = (
    "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
    "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records",
    "input_bytes", "input_records", "output_bytes", "output_records",
)  # fmt: skip
_DESCRIPTION = ("name", "job_description", "status", "num_tasks", "submitted_ms", "completed_ms", "failure_reason")
_COUNTS = ("tasks", "succeeded", "failed", "killed", "speculative", "without_metrics")
_DISTRIBUTIONS = ("wall_ms", "task_run_ms", "task_shuffle_read_bytes", "task_input_bytes")
_EXPECTED = ("baseline_runs", "expected_ms", "expected_p95_ms", "moved", "work_measure")
_NAMES = ("stage_name", "stage_title", "call_site")
_JOB = ("job_id", "description", "submitted_ms", "completed_ms", "result", "failure_reason", "stage_ids")
_EXECUTOR = ("executor_id", "host", "added_ms", "removed_ms", "removed_reason", "cores")
_SCOPE = ("stage_id", "stage_attempt", "executor_id", "job_id")
_FAILURE = ("failure_kind", "failure", "retry")


def analyze(application: Application, rules: Sequence[CompiledRule], earlier: EarlierRuns | None = None) -> Analysis:
    """Evaluate the rules on one application; ``earlier`` supplies the expected durations."""
    ((_, analysis),) = analyze_all([application], rules, earlier)
    return analysis


def analyze_all(
    applications: Iterable[Application], rules: Sequence[CompiledRule], earlier: EarlierRuns | None = None
) -> Iterator[tuple[Application, Analysis]]:
    """Analyze many applications in their order. Small applications are evaluated in batches, because that is faster."""
    known = EarlierRuns() if earlier is None else earlier
    batch: list[_Prepared] = []
    for application in applications:
        batch.append(_prepare(application, known))
        log_bytes = sum(each.application.read.log.size_bytes for each in batch)
        if len(batch) == MAX_BATCH or log_bytes >= MAX_BATCH_BYTES:
            yield from _evaluated(batch, rules)
            batch = []
    yield from _evaluated(batch, rules)


@dataclass(frozen=True)
class _Prepared:
    """An application with its expected values and its views."""

    application: Application
    stage_expectations: Sequence[StageLiveRow]
    application_expectation: AppLiveRow
    rows: ViewRows


def _prepare(application: Application, earlier: EarlierRuns) -> _Prepared:
    stages = stage_expectations(application, earlier)
    whole = application_expectation(application, earlier)
    return _Prepared(application, stages, whole, view_rows(application, stages, whole))


def _evaluated(batch: Sequence[_Prepared], rules: Sequence[CompiledRule]) -> Iterator[tuple[Application, Analysis]]:
    if not batch:
        return
    for each, findings in zip(batch, evaluate(rules, [each.rows for each in batch]), strict=True):
        yield each.application, _analysis(each, findings, rules)


def _analysis(prepared: _Prepared, findings: Sequence[Finding], rules: Sequence[CompiledRule]) -> Analysis:
    application = prepared.application
    groups = group_findings(findings, _stages_of_jobs(application.tables["jobs"]))
    return {
        "application": _application(application, prepared.application_expectation),
        "evidence": _evidence(application),
        "queries": queries(application),
        "jobs": _jobs(prepared),
        "stages": _stages(application, prepared.stage_expectations),
        "executors": _executors(application),
        "findings": [_finding(application, each) for each in groups],
        "not_decidable": [
            {"rule": each.rule.id, "reason": each.reason} for each in undecidable(rules, prepared.rows.views)
        ],
    }


def worst_severity(analysis: Analysis) -> str | None:
    """Return the severity of the worst finding; None if there is no finding."""
    findings = analysis["findings"]
    return findings[0]["severity"] if findings else None


def _application(application: Application, expected: AppLiveRow) -> AnalysedApplication:
    return {
        "app_id": application.app_id,
        "attempt": application.attempt,
        "name": application.name,
        "spark_version": application.spark_version,
        "started_ms": application.started_ms,
        "ended_ms": application.ended_ms,
        "job_key": application.job_key,
        "run_key": application.run_key,
        "status": application.row["status"] or "",
        "elapsed_ms": application.row.get("elapsed_ms"),
        "baseline_runs": expected.get("baseline_runs"),
        "expected_ms": expected.get("expected_ms"),
        "expected_p95_ms": expected.get("expected_p95_ms"),
        "moved": expected.get("moved"),
        "work_measure": expected.get("work_measure"),
    }


def _jobs(prepared: _Prepared) -> list[AnalysedJob]:
    failed = {row["job_id"]: row for row in prepared.rows.views[job_rows.VIEW].to_pylist()}
    found = []
    for row in prepared.application.tables["jobs"].to_pylist():
        failure = failed.get(row["job_id"], {})
        job = {name: row[name] for name in _JOB} | {name: failure.get(name) for name in _FAILURE}
        job["description"] = job_rows.describe_job(row, prepared.application.names)
        found.append(cast(AnalysedJob, job))
    return found


def _stages_of_jobs(jobs: Any) -> Mapping[int, Sequence[int]]:
    return dict(zip(jobs["job_id"].to_pylist(), jobs["stage_ids"].to_pylist(), strict=True))


def _executors(application: Application) -> list[AnalysedExecutor]:
    rows = application.tables["executors"].to_pylist()
    return [cast(AnalysedExecutor, {name: row[name] for name in _EXECUTOR}) for row in rows]


def _evidence(application: Application) -> AnalysisEvidence:
    log, evidence = application.read.log, application.read.evidence
    files = evidence["files"]
    lines = [
        MalformedLine(file=line["file"], line=line["line"], reason=line["reason"])
        for line in evidence["malformed_lines"]
    ]
    return {
        "files": files,
        "plain_bytes": evidence["plain_bytes"],
        "codecs": list(dict.fromkeys(file["codec"] for file in files)),
        "events": evidence["events"],
        "events_by_kind": dict(evidence["events_by_kind"]),
        "malformed_lines": lines,
        "truncated": evidence["truncated"],
        "complete": evidence["complete"],
        "unfinished_tasks": evidence["unfinished_tasks"],
        "duplicate_task_ends": evidence["duplicate_task_ends"],
        "malformed": evidence["malformed"],
        "missing_files": list(log.missing),
        "completeness": application.completeness,
        "left_out": evidence["left_out"],
        "odd_values": evidence["odd_values"],
    }


def _stages(application: Application, expected: Sequence[StageLiveRow]) -> list[AnalysedStage]:
    stages = application.tables["stages"]
    plain = ("stage_id", "stage_attempt", *_DESCRIPTION, *_COUNTS, *_SUMS, *_FACTS)
    columns: dict[str, list[Any]] = {name: stages[name].to_pylist() for name in plain}
    columns |= {name: _distributions(stages[name]) for name in _DISTRIBUTIONS}
    columns["fingerprint"] = list(application.fingerprints)
    columns["completeness"] = list(application.stage_completeness)
    names = [application.names.stages[stage_id] for stage_id in columns["stage_id"]]
    columns["stage_name"] = [each.name for each in names]
    columns["stage_title"] = [each.title for each in names]
    columns["call_site"] = application.call_sites
    columns |= {name: [each.get(name) for each in expected] for name in _EXPECTED}
    order = (
        "stage_id", "stage_attempt", "fingerprint", *_DESCRIPTION, *_COUNTS, *_SUMS, *_DISTRIBUTIONS, *_FACTS,
        "completeness", *_EXPECTED, *_NAMES,
    )  # fmt: skip
    rows = zip(*(columns[name] for name in order), strict=True)
    return [cast(AnalysedStage, dict(zip(order, row, strict=True))) for row in rows]


def _distributions(column: Any) -> list[Distribution]:
    """Convert a column of structs to mappings column by column, which is ten times faster than row by row."""
    flat = column.combine_chunks()
    names = ("n", "sum", "min", "median", "p95", "max")
    fields = [flat.field(name).to_pylist() for name in names]
    return [cast(Distribution, dict(zip(names, row, strict=True))) for row in zip(*fields, strict=True)]


def _finding(application: Application, group: FindingGroup) -> AnalysisFinding:
    found = group.finding
    stage_id = found.row.get("stage_id")
    finding = {
        "rule": found.rule.id,
        "severity": found.severity,
        **{name: found.row.get(name) for name in _SCOPE},
        "count": group.count,
        "inhibited_by": group.inhibited_by,
        "summary": found.rule.summary,
        "description": found.description,
        "evidence": dict(found.evidence),
        "completeness": found.completeness,
        "runbook": found.rule.runbook,
        "query_id": found.row.get("query_id") if stage_id is None else application.names.query_of(stage_id),
        "stage_name": application.names.stage_name(stage_id),
    }
    return cast(AnalysisFinding, finding)
