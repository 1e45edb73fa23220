"""The analysis of one application: the object that `sparkfuse analyze --json` prints, key by key.

Its shape is contracts/documents/analysis.proto; the JSON Schema that is made of it is held against real output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.offline import job_rows
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
from sparkfuse_native_analytics.offline.evaluate import Finding, evaluate, undecidable
from sparkfuse_native_analytics.offline.expectations import application_expectation, stage_expectations
from sparkfuse_native_analytics.offline.finding_groups import FindingGroup, group_findings
from sparkfuse_native_analytics.offline.view_rows import ViewRows, view_rows
from sparkfuse_rules.compiled import CompiledRule

Object = dict[str, Any]
# How many applications are held to be judged at once, and how much their logs may take where they lie.
MOST_AT_ONCE = 64
BYTES_AT_ONCE = 64_000_000
_FACTS = ("job_id", "sql_execution_id", "started_tasks")
_SUMS = (
    "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
    "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records",
    "input_bytes", "input_records", "output_bytes", "output_records",
)  # fmt: skip
_TELLS = ("name", "job_description", "status", "num_tasks", "submitted_ms", "completed_ms", "failure_reason")
_COUNTS = ("tasks", "succeeded", "failed", "killed", "speculative", "without_metrics")
_DISTRIBUTIONS = ("wall_ms", "task_run_ms", "task_shuffle_read_bytes", "task_input_bytes")
_EXPECTED = ("baseline_runs", "expected_ms", "expected_p95_ms", "moved", "work_measure")
_JOB = ("job_id", "description", "submitted_ms", "completed_ms", "result", "failure_reason", "stage_ids")
_EXECUTOR = ("executor_id", "host", "added_ms", "removed_ms", "removed_reason", "cores")
_FILE = ("name", "codec", "bytes", "plain_bytes", "lines", "truncated", "error")
_WHERE = ("stage_id", "stage_attempt", "executor_id", "job_id")
_WHY = ("failure_kind", "failure", "retry")


def analyze(application: Application, rules: Sequence[CompiledRule], history: EarlierRuns | None = None) -> Object:
    """Judge an application by the rules and by what its earlier runs took; give the whole analysis."""
    ((_, analysis),) = analyze_all([application], rules, history)
    return analysis


def analyze_all(
    applications: Iterable[Application], rules: Sequence[CompiledRule], history: EarlierRuns | None = None
) -> Iterator[tuple[Application, Object]]:
    """The same for many applications, in their order; some of small logs are held and judged at once."""
    known = EarlierRuns() if history is None else history
    held: list[_Prepared] = []
    for application in applications:
        held.append(_prepared(application, known))
        if len(held) == MOST_AT_ONCE or sum(each.application.read.log.size_bytes for each in held) >= BYTES_AT_ONCE:
            yield from _judged(held, rules)
            held = []
    yield from _judged(held, rules)


@dataclass(frozen=True)
class _Prepared:
    """An application with what was expected of it."""

    application: Application
    of_stages: Sequence[Mapping[str, Any]]
    of_application: Mapping[str, Any]
    rows: ViewRows


def _prepared(application: Application, history: EarlierRuns) -> _Prepared:
    of_stages = stage_expectations(application, history)
    of_application = application_expectation(application, history)
    return _Prepared(application, of_stages, of_application, view_rows(application, of_stages, of_application))


def _judged(held: Sequence[_Prepared], rules: Sequence[CompiledRule]) -> Iterator[tuple[Application, Object]]:
    if not held:
        return
    for each, found in zip(held, evaluate(rules, [each.rows for each in held]), strict=True):
        yield each.application, _analysis(each, found, rules)


def _analysis(of: _Prepared, found: Sequence[Finding], rules: Sequence[CompiledRule]) -> Object:
    tables = of.application.tables
    return {
        "application": _application(of.application, of.of_application),
        "evidence": _evidence(of.application),
        "jobs": _jobs(of),
        "stages": _stages(of.application, of.of_stages),
        "executors": [{name: row[name] for name in _EXECUTOR} for row in tables["executors"].to_pylist()],
        "findings": [_finding(each) for each in group_findings(found, _stages_of_jobs(tables["jobs"]))],
        "not_decidable": [{"rule": each.rule.id, "reason": each.reason} for each in undecidable(rules, of.rows.views)],
    }


def worst_severity(analysis: Mapping[str, Any]) -> str | None:
    """The severity of the worst finding, None without any."""
    findings = analysis["findings"]
    return findings[0]["severity"] if findings else None


def _application(application: Application, expected: Mapping[str, Any]) -> Object:
    return {
        "app_id": application.app_id,
        "attempt": application.attempt,
        "name": application.name,
        "spark_version": application.spark_version,
        "started_ms": application.started_ms,
        "ended_ms": application.ended_ms,
        "job_key": application.job_key,
        "run_key": application.run_key,
        "status": application.row["status"],
        "elapsed_ms": application.row.get("elapsed_ms"),
        **{name: expected.get(name) for name in _EXPECTED},
    }


def _jobs(of: _Prepared) -> list[Object]:
    failed = {row["job_id"]: row for row in of.rows.views[job_rows.VIEW].to_pylist()}
    found = []
    for row in of.application.tables["jobs"].to_pylist():
        why = failed.get(row["job_id"], {})
        found.append({name: row[name] for name in _JOB} | {name: why.get(name) for name in _WHY})
    return found


def _stages_of_jobs(jobs: Any) -> Mapping[int, Sequence[int]]:
    return dict(zip(jobs["job_id"].to_pylist(), jobs["stage_ids"].to_pylist(), strict=True))


def _evidence(application: Application) -> Object:
    log, told = application.read.log, application.read.evidence
    files = [{name: file[name] for name in _FILE} for file in told["files"]]
    lines = [{name: line[name] for name in ("file", "line", "reason")} for line in told["malformed_lines"]]
    return {
        "files": files,
        "plain_bytes": told["plain_bytes"],
        "codecs": list(dict.fromkeys(file["codec"] for file in files)),
        "events": told["events"],
        "events_by_kind": dict(told["events_by_kind"]),
        "malformed_lines": lines,
        "truncated": told["truncated"],
        "complete": told["complete"],
        "unfinished_tasks": told["unfinished_tasks"],
        "duplicate_task_ends": told["duplicate_task_ends"],
        "malformed": told["malformed"],
        "missing_files": list(log.missing),
        "completeness": application.completeness,
        "left_out": told["left_out"],
        "odd_values": told["odd_values"],
    }


def _stages(application: Application, expected: Sequence[Mapping[str, Any]]) -> list[Object]:
    stages = application.tables["stages"]
    plain = ("stage_id", "stage_attempt", *_TELLS, *_COUNTS, *_SUMS, *_FACTS)
    columns: dict[str, list[Any]] = {name: stages[name].to_pylist() for name in plain}
    columns |= {name: _objects(stages[name]) for name in _DISTRIBUTIONS}
    columns["fingerprint"] = list(application.fingerprints)
    columns["completeness"] = list(application.stage_completeness)
    columns |= {name: [each.get(name) for each in expected] for name in _EXPECTED}
    order = (
        "stage_id", "stage_attempt", "fingerprint", *_TELLS, *_COUNTS, *_SUMS, *_DISTRIBUTIONS, *_FACTS,
        "completeness", *_EXPECTED,
    )  # fmt: skip
    return [dict(zip(order, row, strict=True)) for row in zip(*(columns[name] for name in order), strict=True)]


def _objects(distribution: Any) -> list[Object]:
    """The mappings of a column of structs, made column by column: ten times faster than row by row."""
    flat = distribution.combine_chunks()
    names = ("n", "sum", "min", "median", "p95", "max")
    parts = [flat.field(name).to_pylist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]


def _finding(each: FindingGroup) -> Object:
    found = each.finding
    return {
        "rule": found.rule.id,
        "severity": found.severity,
        **{name: found.row.get(name) for name in _WHERE},
        "count": each.count,
        "inhibited_by": each.inhibited_by,
        "summary": found.rule.summary,
        "description": found.description,
        "evidence": dict(found.evidence),
        "completeness": found.completeness,
        "runbook": found.rule.runbook,
    }
