"""`sparkfuse runs`, `run`, `findings`, `actions`: query the store."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse_rules.describe import readable_bytes, readable_duration
from sparkfuse_rules.knowledge.money import readable_money

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from sparkfuse_native_analytics.queries.finding_rows import FindingRun

Answer = TypeVar("Answer")
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder of the running stack.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")]
Job = Annotated[str, typer.Option("--job", help="Only this job.")]
Application = Annotated[str, typer.Option("--app", help="Only this application id.")]
State = Annotated[str, typer.Option("--state", help="Only findings in this state: firing or resolved.")]
STATES = ("", "firing", "resolved")
DEFAULT_HOME = Path(".sparkfuse")


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (runs, run, findings):
        application.command()(command)


def ask(home: Path, question: Callable[[Client], Answer]) -> Answer:
    """Query the store at SPARKFUSE_CLICKHOUSE_URL, or else the store of the stack that runs in `home`.

    Raises:
        StartError: the store does not answer, or it has no tables because no loader has run on it.
    """
    from sparkfuse_native_analytics.queries import StoreEmptyError
    from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect

    settings = settings_of_stack(home)
    try:
        return question(connect(settings))
    except (StoreUnavailableError, StoreEmptyError) as error:
        raise StartError(f"{error}; {_store_hint()}") from error


def _store_hint() -> str:
    if os.environ.get("SPARKFUSE_CLICKHOUSE_URL"):
        return "the address comes from SPARKFUSE_CLICKHOUSE_URL"
    return "is `sparkfuse up` running? Set SPARKFUSE_CLICKHOUSE_URL to use another store"


def runs(home: Home = DEFAULT_HOME, job: Job = "", limit: Limit = 50, as_json: Json = False) -> None:
    """List runs of jobs, newest first.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.runs(client, limit, job_key=job or None))
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Runs",
        ["job", "application", "started", "status", "took", "stages", "tasks", "failed", "spilled", "completeness"],
        [
            (
                each.job_key,
                each.app_id,
                moment(each.app_start_ms),
                each.status,
                duration(each.elapsed_ms),
                each.ended_stages,
                each.finished_tasks,
                each.failed_tasks,
                size(each.disk_spilled_bytes),
                share(each.completeness),
            )
            for each in found
        ],
    )


def run(app_id: str, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Show one run with its queries and stages.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.run(client, app_id))
    if found is None:
        raise StartError(f"the store has no application {app_id!r}; `sparkfuse runs` lists applications", USAGE)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    title = f"{found.run.job_key}, {app_id}: {found.run.status}"
    if found.queries:
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
                for each in found.queries
            ],
        )
    print_table(
        f"{title}; stages" if found.queries else title,
        ["stage", "name", "status", "tasks", "took", "median task", "longest", "work", "spilled", "completeness"],
        [
            (
                f"{each.stage_id}.{each.stage_attempt}",
                each.stage_name or stage_fallback(each.sql_execution_id),
                each.status,
                f"{each.finished_tasks or 0}/{each.num_tasks or '?'}",
                duration(each.elapsed_ms),
                duration(each.duration_p50_ms),
                duration(each.duration_max_ms),
                size(each.work_bytes),
                size(each.disk_spilled_bytes),
                share(each.completeness),
            )
            for each in found.stages
        ],
    )


def findings(
    home: Home = DEFAULT_HOME,
    job: Job = "",
    app: Application = "",
    state: State = "",
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List findings, newest first.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    if state not in STATES:
        raise StartError(f"--state must be firing or resolved, but is {state!r}", USAGE)
    found = ask(
        home,
        lambda client: queries.findings(client, limit, state=state or None, job_key=job or None, app_id=app or None),
    )
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Findings",
        ["state", "severity", "rule", "job", "stage", "since", "description", "cost", "runs"],
        [
            (
                each.state,
                each.severity,
                each.rule,
                each.job_key,
                next((each_run.stage_name for each_run in each.runs if each_run.stage_name), None),
                moment(each.started_ms),
                each.description,
                cost_of_runs(each.runs, each.currency),
                ", ".join(each_run.app_id or "?" for each_run in each.runs),
            )
            for each in found
        ],
    )


def cost_of_runs(runs: Sequence[FindingRun], currency: str | None) -> str | None:
    """Format the cost so far of the applications of a finding; None if the cost is unknown.

    Findings about tasks and stages of one application share the application's cost, so each application counts once.
    """
    by_application = {(each.app_id, each.app_attempt): each.cost for each in runs if each.cost is not None}
    return money(sum(by_application.values()), currency) if by_application else None


def money(amount: float | None, currency: str | None) -> str | None:
    """Format an amount with its currency; None if the amount is unknown."""
    return None if amount is None else readable_money(amount, currency or "")


def stage_fallback(query_id: int | None) -> str | None:
    """Name a stage without a display name by its query, such as q7; None if the stage belongs to no query."""
    return None if query_id is None else f"q{query_id}"


def first_line(text: str | None) -> str | None:
    """Return the first line of a failure."""
    return text.strip().splitlines()[0][:200] if text and text.strip() else None


def moment(milliseconds: int | None) -> str | None:
    """Format ms since the epoch in the local time zone."""
    if milliseconds is None:
        return None
    return dt.datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(milliseconds: float | None) -> str | None:
    """Format a duration in ms."""
    return None if milliseconds is None else readable_duration(milliseconds)


def size(count: float | None) -> str | None:
    """Format a number of bytes."""
    return None if count is None else readable_bytes(count)


def share(ratio: float | None) -> str | None:
    """Format a completeness as a percentage, rounded down so that 100 % means complete."""
    return None if ratio is None else f"{int(ratio * 1000) / 10:g} %"
