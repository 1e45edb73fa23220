"""The dashboard of one running application."""

from __future__ import annotations

from sparkfuse_contracts.links import RUNNING_JOB_UID
from sparkfuse_dashboards.dashboard import DashboardSpec, Row, Variable
from sparkfuse_dashboards.panel import COMPLETE, Column, Kind, PanelSpec
from sparkfuse_dashboards.query import read_sql

_FOLDER = "running_job"


def running_job() -> DashboardSpec:
    """Return the dashboard of one application: findings, queries, stages, tasks, memory and the fuse."""
    return DashboardSpec(
        uid=RUNNING_JOB_UID,
        title="Sparkfuse: running job",
        description="One application: its state, findings, queries, stages and tasks, and the fuse.",
        since="now-1h",
        variables=(Variable("app_id", "Application", read_sql(_FOLDER, "applications")),),
        rows=(_now(), _found(), _queries(), _stages(), _memory()),
    )


def _panel(
    name: str, title: str, description: str, kind: Kind, *columns: Column, width: int = 24, height: int = 8
) -> PanelSpec:
    return PanelSpec(title, description, kind, read_sql(_FOLDER, name), columns, width, height)


def _now() -> Row:
    run = _panel(
        "run", "Now", "The latest application row of the run.", "stat",
        Column("name"), Column("status", "word"), Column("elapsed", "ms"), Column("running_stages", "count"),
        Column("running_tasks", "count"), Column("failed_tasks", "count"), Column("executors", "count"),
        Column("spilled", "bytes"), width=16, height=5,
    )  # fmt: skip
    completeness = _panel(
        "completeness", "Completeness", "Facts that arrived divided by facts that collectors numbered. "
        "Below 99 % no finding is critical and the fuse does not act.", "timeseries",
        Column("time", "time"), Column("completeness", "share", COMPLETE), width=8, height=5,
    )  # fmt: skip
    return Row("The run", (run, completeness))


def _found() -> Row:
    findings = _panel(
        "findings", "Findings", "Findings of this job, firing ones first.", "table",
        Column("severity", "word"), Column("state", "word"), Column("rule"), Column("description"),
        Column("since", "time"), Column("resolved", "time"), Column("completeness", "share", COMPLETE),
        Column("runbook", "runbook"),
    )  # fmt: skip
    fuse_steps = _panel(
        "fuse_steps", "Fuse", "Decisions of the controller and receipts of the hook, with their numbers.", "table",
        Column("at", "time"), Column("actor"), Column("rule"), Column("action"), Column("mode"),
        Column("step", "word"), Column("outcome", "word"), Column("gate"), Column("reason"), Column("stage"),
        Column("freed_tasks", "count"),
        Column("observed"), height=6,
    )  # fmt: skip
    return Row("Findings and fuse", (findings, fuse_steps))


def _queries() -> Row:
    queries = _panel(
        "queries", "Queries", "SQL executions, running ones first; the stage ids lead to the panel below.", "table",
        Column("id", "count"), Column("query"), Column("status", "word"), Column("elapsed", "ms"), Column("sources"),
        Column("sink"), Column("call_site"), Column("running_tasks", "count"), Column("input", "bytes"),
        Column("spilled", "bytes"), Column("stages"), Column("failure"),
    )  # fmt: skip
    return Row("Queries", (queries,))


def _stages() -> Row:
    stages = _panel(
        "stages", "Stages and their expected duration",
        "Expected, p95: the duration and its 95th percentile for the work of the stage, from earlier runs of the job; "
        "empty for fewer than five runs. Cost: of the cores that the ended tasks used. "
        "Biggest task: its bytes divided by those of the median task.", "table",
        Column("stage"), Column("name"), Column("status", "word"), Column("elapsed", "ms"), Column("expected", "ms"),
        Column("p95", "ms"), Column("against_expected", "times"), Column("cost", "amount"), Column("currency"),
        Column("done", "share"), Column("running_tasks", "count"), Column("failed_tasks", "count"),
        Column("work", "bytes"), Column("spilled", "bytes"),
        Column("biggest_task", "times"), Column("lost", "ms"), Column("completeness", "share", COMPLETE),
    )  # fmt: skip
    tasks = _panel(
        "tasks", "Running tasks", "Longest stalled first; an idle task uses no CPU, a busy one does.", "table",
        Column("stage"), Column("task", "count"), Column("attempt", "count"), Column("executor"), Column("host"),
        Column("activity", "word"), Column("stalled", "ms"), Column("age", "ms"), Column("cpu_since_progress", "ms"),
        Column("work", "bytes"), Column("spilled", "bytes"), Column("stack"),
    )  # fmt: skip
    return Row("Stages and tasks", (stages, tasks))


def _memory() -> Row:
    spill = _panel(
        "spill", "Spilled to disk", "By stage; only a SQL sort reports its spill while it runs.", "timeseries",
        Column("time", "time"), Column("stage"), Column("spilled", "bytes"), width=8,
    )  # fmt: skip
    heap = _panel(
        "heap", "Heap in use", "Share of the maximum heap of the executor.", "timeseries",
        Column("time", "time"), Column("executor"), Column("heap", "share"), width=8,
    )  # fmt: skip
    collections = _panel(
        "gc", "Garbage collection", "Share of wall time between two samples.", "timeseries",
        Column("time", "time"), Column("executor"), Column("gc", "share"), width=8,
    )  # fmt: skip
    executors = _panel(
        "executors", "Executors", "The latest sample of each executor.", "table",
        Column("executor"), Column("host"), Column("heap_used", "bytes"), Column("heap_max", "bytes"),
        Column("gc", "share"), Column("resident", "bytes"), Column("python_resident", "bytes"),
        Column("running_tasks", "count"), Column("seen", "time"), height=6,
    )  # fmt: skip
    return Row("Spill and memory", (spill, heap, collections, executors))
