"""`sparkfuse run`: one run with its findings, queries, stages and expected durations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sparkfuse.commands.history import (
    DEFAULT_HOME,
    Home,
    ask,
    cost_of_runs,
    duration,
    first_line,
    moment,
    money,
    share,
    size,
    stage_fallback,
)
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries import (
        ExpectedDuration,
        Finding,
        Query,
        RunReport,
        StageReport,
    )
    from sparkfuse_rules.prices import Prices

MAX_ROWS = 10_000


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(run)


def run(app_id: str, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Show one run with its findings, queries and stages, and the durations that were expected.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    prices = prices_of(home)
    found = ask(home, lambda client: queries.run_report(client, app_id, prices, MAX_ROWS))
    if found is None:
        raise unknown_application(app_id)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    title = f"{found.run.job_key}, {app_id}: {found.run.status}"
    typer.echo(_line(found))
    print_findings(title, found.findings)
    if found.queries:
        _print_queries(title, found.queries)
    _print_stages(f"{title}; stages" if found.queries else title, found.stages)


def unknown_application(app_id: str, more: str = "") -> StartError:
    """Return the error for an application that the store does not have."""
    return StartError(f"the store has no application {app_id!r}{more}; `sparkfuse runs` lists applications", USAGE)


def prices_of(home: Path) -> Prices | None:
    """Return the prices of the stack in a folder; None if they are switched off. Raises StartError."""
    from sparkfuse_rules.errors import RuleError
    from sparkfuse_rules.prices import read_prices

    try:
        return read_prices(settings_of_stack(home).config_file)
    except RuleError as error:
        raise StartError(str(error), USAGE) from error


def _line(found: RunReport) -> str:
    run = found.run
    parts = [f"Started {moment(run.app_start_ms)}", f"took {duration(run.elapsed_ms) or '-'}"]
    parts.append(f"expected {expected_text(found.expected) or 'unknown'}")
    if found.deadline_ms is not None:
        parts.append(f"deadline {moment(found.deadline_ms)}{' (p95)' if found.deadline_source == 'history' else ''}")
    parts.append(f"cost {money(found.cost.amount, found.cost.currency) or 'unknown'}")
    return f"{', '.join(parts)}, completeness {share(run.completeness) or 'unknown'}."


def expected_text(expected: ExpectedDuration | None) -> str | None:
    """Return an expected duration with its p95; None if nothing is expected."""
    if expected is None:
        return None
    return f"{duration(expected.expected_ms)}, p95 {duration(expected.expected_p95_ms)}"


def print_findings(title: str, findings: Sequence[Finding]) -> None:
    """Print the findings of a run as a table; nothing if there are none."""
    if findings:
        print_table(
            f"{title}; findings",
            ["state", "severity", "rule", "since", "description", "cost", "completeness"],
            [
                (
                    each.state,
                    each.severity,
                    each.rule,
                    moment(each.started_ms),
                    each.description,
                    cost_of_runs(each.runs, each.currency),
                    share(each.completeness),
                )
                for each in findings
            ],
        )


def _print_queries(title: str, queries: Sequence[Query]) -> None:
    print_table(
        f"{title}; queries",
        ["query", "call site", "status", "took", "stages", "work", "spilled", "reads", "writes", "failure"],
        [
            (
                each.name or f"q{each.query_id}",
                each.call_site,
                each.status,
                duration(each.elapsed_ms),
                len(each.stage_ids),
                size(each.work_bytes),
                size(each.disk_spilled_bytes),
                each.sources,
                each.sink,
                first_line(each.failure_reason),
            )
            for each in queries
        ],
    )


def _print_stages(title: str, stages: Sequence[StageReport]) -> None:
    headings = ["stage", "name", "status", "tasks", "took", "expected, p95", "cost", "median task", "longest",
                "work", "spilled", "completeness"]  # fmt: skip
    print_table(
        title,
        headings,
        [
            (
                f"{each.stage_id}.{each.stage_attempt}",
                each.stage_name or stage_fallback(each.sql_execution_id),
                each.status,
                f"{each.finished_tasks or 0}/{each.num_tasks or '?'}",
                duration(each.elapsed_ms),
                expected_text(report.expected),
                money(report.cost, report.currency),
                duration(each.duration_p50_ms),
                duration(each.duration_max_ms),
                size(each.work_bytes),
                size(each.disk_spilled_bytes),
                share(each.completeness),
            )
            for report in stages
            for each in [report.stage]
        ],
    )
