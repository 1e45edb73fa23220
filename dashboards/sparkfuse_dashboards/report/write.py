"""Writes an analysis as an HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkfuse_dashboards.report import charts, timeline
from sparkfuse_dashboards.report.distributions import distribution, only
from sparkfuse_dashboards.report.evidence import shown_evidence
from sparkfuse_dashboards.report.findings import shown_findings
from sparkfuse_dashboards.report.limits import MAX_EXECUTOR_ROWS, MAX_JOB_ROWS, MAX_POINTS
from sparkfuse_dashboards.report.page import page
from sparkfuse_dashboards.report.pressure import pressure
from sparkfuse_dashboards.report.queries import shown_queries
from sparkfuse_dashboards.report.stages import key, table, worst_stages
from sparkfuse_dashboards.report.text import clean, moment, number, span

if TYPE_CHECKING:
    import pyarrow as pa


def write_report(analysis: Mapping[str, Any], tasks: pa.Table | None, path: Path) -> None:
    """Write the report as one HTML file that needs no network.

    Args:
        analysis: the JSON object of `sparkfuse analyze --json`; absent values are shown as unknown.
        tasks: rows of the kernel's task table, at least those of `worst_stages(analysis)`; without these rows, the
            report has no distributions.
        path: path of the file; an existing file is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(report_html(analysis, tasks), encoding="utf-8")


def report_html(analysis: Mapping[str, Any], tasks: pa.Table | None) -> str:
    """Return the HTML of the report; see `write_report`."""
    stages = list(analysis.get("stages") or ())
    shown = timeline.window(analysis)
    content: dict[str, Any] = {
        "application": _application(analysis),
        "findings": shown_findings(list(analysis.get("findings") or ())),
        "queries": shown_queries(analysis),
        "stages": table(stages, shown.start if shown else None),
        "stages_total": len(stages),
        "pressure": pressure(stages),
        "worst": _worst(analysis, tasks),
        "max_points": MAX_POINTS,
        "evidence": shown_evidence(analysis),
        **_when(analysis, shown),
    }
    specs = content.pop("timeline_charts") | _charts(content)
    return page({**content, "drawn": set(specs)}, specs)


def _application(analysis: Mapping[str, Any]) -> dict[str, str]:
    application = analysis.get("application") or {}
    return {
        "name": clean(application.get("name")) or "Application without a name",
        "app_id": clean(application.get("app_id")) or "unknown",
        "attempt": clean(application.get("attempt")),
        "spark_version": clean(application.get("spark_version")) or "unknown",
        "job_key": clean(application.get("job_key")) or "unknown",
        "started": moment(application.get("started_ms")),
        "status": clean(application.get("status")) or "unknown",
        "took": span(application.get("elapsed_ms")),
        "expected": _expected(application),
    }


def _expected(application: Mapping[str, Any]) -> str:
    """Return the expected duration as text; empty if there are no earlier runs."""
    runs = number(application.get("baseline_runs"))
    return f"{span(application.get('expected_ms'))} from {runs:.0f} earlier runs" if runs else ""


def _worst(analysis: Mapping[str, Any], tasks: pa.Table | None) -> list[dict[str, Any]]:
    by_key = {key(stage): stage for stage in analysis.get("stages") or ()}
    return [distribution(by_key[each], None if tasks is None else only(tasks, each)) for each in worst_stages(analysis)]


def _when(analysis: Mapping[str, Any], shown: timeline.Window | None) -> dict[str, Any]:
    executors, jobs = list(analysis.get("executors") or ()), list(analysis.get("jobs") or ())
    drawn = timeline.rows(analysis, shown) if shown else {"bars": [], "labels": [], "left_out": []}
    specs: dict[str, Any] = {}
    if shown and drawn["bars"]:
        specs["timeline"] = charts.timeline(drawn["bars"], drawn["labels"], shown)
    if shown and executors:
        specs["alive"] = charts.alive(timeline.alive(executors, shown), shown)
    return {
        "timeline_charts": specs,
        "timeline_left_out": drawn["left_out"],
        "executors": [_executor(each) for each in executors[:MAX_EXECUTOR_ROWS]],
        "executors_left_out": max(len(executors) - MAX_EXECUTOR_ROWS, 0),
        "jobs": [_job(each) for each in jobs[:MAX_JOB_ROWS]],
        "jobs_left_out": max(len(jobs) - MAX_JOB_ROWS, 0),
    }


def _executor(executor: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        clean(executor.get("executor_id")),
        clean(executor.get("host")),
        moment(executor.get("added_ms")),
        moment(executor.get("removed_ms")) if number(executor.get("removed_ms")) is not None else "",
        clean(executor.get("removed_reason")),
    )


def _job(job: Mapping[str, Any]) -> tuple[str, ...]:
    submitted, completed = number(job.get("submitted_ms")), number(job.get("completed_ms"))
    return (
        clean(job.get("job_id")),
        clean(job.get("description")),
        moment(submitted),
        span(completed - submitted) if submitted is not None and completed is not None else "no end in the log",
        clean(job.get("result")) or "unknown",
    )


def _charts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chart specifications that have data, by the name of their place on the page."""
    found: dict[str, Any] = {}
    for place, stage in enumerate(content["worst"]):
        if stage["durations"]:
            found[f"durations-{place}"] = charts.histogram(stage["durations"], "wall time", of_bytes=False)
        if any(each["to"] > 0 for each in stage["bytes"]):
            found[f"bytes-{place}"] = charts.histogram(stage["bytes"], "bytes read", of_bytes=True)
        # If no task read anything, all points would be on one line, and the first chart already shows their times.
        if any(each["bytes"] > 0 for each in stage["points"]):
            found[f"points-{place}"] = charts.points(stage["points"])
    pressure_content = content["pressure"]
    if pressure_content["spill_bars"]:
        found["spill"] = charts.ranking(pressure_content["spill_bars"], "Bytes spilled to disk", of_bytes=True)
    if pressure_content["gc_bars"]:
        found["gc"] = charts.ranking(
            pressure_content["gc_bars"], "Garbage collection, share of run time", of_bytes=False
        )
    return found
