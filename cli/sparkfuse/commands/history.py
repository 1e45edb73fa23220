"""`sparkfuse runs` and `findings`: list what the store has."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sparkfuse.commands.options import duration_ms, settings_of_stack
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
Team = Annotated[str, typer.Option("--team", help="Only jobs of this team.")]
User = Annotated[str, typer.Option("--user", help="Only applications that this user started.")]
Status = Annotated[str, typer.Option("--status", help="Only runs with this status: running, succeeded or failed.")]
InCluster = Annotated[str, typer.Option("--cluster", help="Only runs in this cluster.")]
Since = Annotated[str, typer.Option("--since", help="Only runs that started in this period, such as 12h or 7d.")]
Until = Annotated[str, typer.Option("--until", help="Only runs that started earlier than this period ago, such as 1d.")]
Cursor = Annotated[str, typer.Option("--cursor", help="next_cursor of the previous page.")]
STATES = ("", "firing", "resolved")
STATUSES = ("", "running", "succeeded", "failed")
DEFAULT_HOME = Path(".sparkfuse")


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (runs, findings):
        application.command()(command)


def ask(home: Path, question: Callable[[Client], Answer]) -> Answer:
    """Query the store at SPARKFUSE_CLICKHOUSE_URL, or else the store of the stack that runs in `home`.

    Raises:
        StartError: the store does not answer, it has no tables because no loader has run on it, or a cursor is wrong.
    """
    from sparkfuse_native_analytics.queries import CursorError, StoreEmptyError
    from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect

    settings = settings_of_stack(home)
    try:
        return question(connect(settings))
    except (StoreUnavailableError, StoreEmptyError) as error:
        raise StartError(f"{error}; {_store_hint()}") from error
    except CursorError as error:
        raise StartError(str(error), USAGE) from error


def _store_hint() -> str:
    if os.environ.get("SPARKFUSE_CLICKHOUSE_URL"):
        return "the address comes from SPARKFUSE_CLICKHOUSE_URL"
    return "is `sparkfuse up` running? Set SPARKFUSE_CLICKHOUSE_URL to use another store"


def runs(
    home: Home = DEFAULT_HOME,
    job: Job = "",
    team: Team = "",
    user: User = "",
    status: Status = "",
    cluster: InCluster = "",
    since: Since = "",
    until: Until = "",
    cursor: Cursor = "",
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List runs of jobs, newest first.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home. With --json, each page has the
    cursor of the next one.
    """
    from sparkfuse_native_analytics import queries

    if status not in STATUSES:
        raise StartError(f"--status must be running, succeeded or failed, but is {status!r}", USAGE)
    now_ms = time.time_ns() // 1_000_000
    wanted = queries.RunFilter(
        since_ms=now_ms - duration_ms("--since", since) if since else 0,
        until_ms=now_ms - duration_ms("--until", until) if until else 0,
        status=status,
        job_key=job,
        team=team,
        user=user,
        cluster=cluster,
    )
    page = ask(home, lambda client: queries.list_runs(client, wanted, limit, cursor))
    found = page.runs
    if as_json:
        print_json(dataclasses.asdict(page))
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


def findings(
    home: Home = DEFAULT_HOME,
    job: Job = "",
    app: Application = "",
    state: State = "",
    team: Team = "",
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List findings, newest first.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    if state not in STATES:
        raise StartError(f"--state must be firing or resolved, but is {state!r}", USAGE)
    wanted = queries.FindingFilter(state=state, job_key=job, app_id=app, team=team)
    found = ask(home, lambda client: queries.latest_findings(client, wanted, limit))
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
