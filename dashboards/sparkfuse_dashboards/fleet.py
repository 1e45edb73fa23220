"""The dashboard of all applications."""

from __future__ import annotations

from sparkfuse_contracts.links import FLEET_UID
from sparkfuse_dashboards.dashboard import DashboardSpec, Row
from sparkfuse_dashboards.panel import COMPLETE, Column, Kind, PanelSpec
from sparkfuse_dashboards.query import read_sql
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.rule import Rule

_FOLDER = "fleet"


def fleet(catalog: Catalog) -> DashboardSpec:
    """Return the fleet dashboard: findings, applications, one panel per rule, the fuse and the pipeline."""
    return DashboardSpec(
        uid=FLEET_UID,
        title="Sparkfuse: fleet",
        description="All applications: findings, running applications, the fuse and the pipeline.",
        since="now-6h",
        rows=(_findings(), _runs(), _rules(catalog), _pipeline()),
    )


def _panel(
    name: str, title: str, description: str, kind: Kind, *columns: Column, width: int = 24, height: int = 8
) -> PanelSpec:
    return PanelSpec(title, description, kind, read_sql(_FOLDER, name), columns, width, height)


def _findings() -> Row:
    by_rule = _panel(
        "findings_by_rule", "Firing now, by rule", "Findings that fire at the end of the time range.", "table",
        Column("rule"), Column("severity", "word"), Column("firing", "count"), Column("jobs", "count"), width=7,
    )  # fmt: skip
    findings = _panel(
        "findings", "Findings", "One finding per job, rule and scope; the application is the latest run.", "table",
        Column("severity", "word"), Column("state", "word"), Column("rule"), Column("job"), Column("description"),
        Column("app_id", "app_id"), Column("since", "time"), Column("resolved", "time"),
        Column("completeness", "share", COMPLETE), Column("runbook", "runbook"), width=17,
    )  # fmt: skip
    return Row("Findings", (by_rule, findings))


def _runs() -> Row:
    applications = _panel(
        "applications", "Running applications", "Those with a row in the last two minutes of the time range.", "table",
        Column("name"), Column("app_id", "app_id"), Column("cluster"), Column("tenant"), Column("user"),
        Column("elapsed", "ms"), Column("running_stages", "count"), Column("running_tasks", "count"),
        Column("failed_tasks", "count"), Column("executors", "count"), Column("spilled", "bytes"),
        Column("completeness", "share", COMPLETE),
    )  # fmt: skip
    running = _panel(
        "running", "Number of running applications", "Applications with a row in the interval.", "timeseries",
        Column("time", "time"), Column("applications", "count"), width=8,
    )  # fmt: skip
    spill = _panel(
        "spill", "Most spilled to disk", "Stages in the time range.", "table",
        Column("app_id", "app_id"), Column("stage"), Column("name"), Column("status", "word"),
        Column("spilled", "bytes"), Column("work", "bytes"), Column("elapsed", "ms"), width=16,
    )  # fmt: skip
    ended_runs = _panel(
        "ended_runs", "Ended runs by day", "By the day of their start, for time ranges of up to five years.",
        "timeseries", Column("time", "time"), Column("ended", "count"), Column("failed", "count"),
    )  # fmt: skip
    return Row("Applications", (applications, running, spill, ended_runs))


def _rules(catalog: Catalog) -> Row:
    return Row("Rules", tuple(_rule(rule) for rule in catalog.values()))


def _rule(rule: Rule) -> PanelSpec:
    sql = read_sql(_FOLDER, "rule").replace("{rule}", rule.id)
    columns = (Column("time", "time"), Column("severity"), Column("firing", "count"))
    return PanelSpec(rule.id, f"{rule.summary}.", "timeseries", sql, columns, width=6, height=6)


def _pipeline() -> Row:
    fuse_steps = _panel(
        "fuse_steps", "Fuse", "Decisions of the fuse controller and receipts of the hook.", "table",
        Column("at", "time"), Column("app_id", "app_id"), Column("actor"), Column("rule"), Column("action"),
        Column("mode"), Column("step", "word"), Column("outcome", "word"), Column("gate"), Column("reason"),
        Column("freed_tasks", "count"),
    )  # fmt: skip
    completeness = _panel(
        "completeness", "Lowest completeness", "Facts that arrived divided by facts that collectors numbered.",
        "timeseries", Column("time", "time"), Column("lowest", "share", COMPLETE), width=10,
    )  # fmt: skip
    dead_letters = _panel(
        "dead_letters", "Dead letters", "Records that could not be processed, by component and reason.", "table",
        Column("component"), Column("topic"), Column("reason"), Column("records", "count"), Column("latest", "time"),
        width=14,
    )  # fmt: skip
    return Row("Fuse and pipeline", (fuse_steps, completeness, dead_letters))
