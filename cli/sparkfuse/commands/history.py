"""`sparkfuse runs`, `run`, `findings`, `actions`, `trace`: ask the store."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse.stack.layout import addresses_of_running_stack
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.describe import readable_bytes, readable_duration

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

Answer = TypeVar("Answer")
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder of the running stack.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many rows at most.")]
Job = Annotated[str, typer.Option("--job", help="Only this job.")]
Application = Annotated[str, typer.Option("--app", help="Only this application id.")]
State = Annotated[str, typer.Option("--state", help="Only findings in this state: firing or resolved.")]
STATES = ("", "firing", "resolved")
DEFAULT_HOME = Path(".sparkfuse")


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (runs, run, findings, actions):
        application.command()(command)


def ask(home: Path, question: Callable[[Client], Answer]) -> Answer:
    """Ask the store that the environment names, else that of the stack that runs in `home`.

    Raises:
        StartError: no store answers, or it is empty because no loader has ever run on it.
    """
    from sparkfuse_native_analytics.queries import StoreEmptyError
    from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect

    settings = Settings.from_environment({**addresses_of_running_stack(home), **os.environ})
    try:
        return question(connect(settings))
    except (StoreUnavailableError, StoreEmptyError) as error:
        raise StartError(f"{error}; is `sparkfuse up` running?") from error


def runs(home: Home = DEFAULT_HOME, job: Job = "", limit: Limit = 50, as_json: Json = False) -> None:
    """Runs of jobs, newest first."""
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.runs(client, limit, job_key=job or None))
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Runs",
        ["job", "application", "started", "status", "took", "stages", "tasks", "failed", "spilled", "evidence"],
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
    """One run with its stages."""
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.run(client, app_id))
    if found is None:
        raise StartError(f"the store knows no application {app_id!r}", USAGE)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    print_table(
        f"{found.run.job_key}, {app_id}: {found.run.status}",
        ["stage", "name", "status", "tasks", "took", "median task", "longest", "work", "spilled", "evidence"],
        [
            (
                f"{each.stage_id}.{each.stage_attempt}",
                each.name,
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
    """What the rules say, newest first."""
    from sparkfuse_native_analytics import queries

    if state not in STATES:
        raise StartError(f"--state {state} is unknown: it is firing or resolved", USAGE)
    found = ask(
        home,
        lambda client: queries.findings(client, limit, state=state or None, job_key=job or None, app_id=app or None),
    )
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Findings",
        ["state", "severity", "rule", "job", "since", "said", "runs"],
        [
            (
                each.state,
                each.severity,
                each.rule,
                each.job_key,
                moment(each.started_ms),
                each.description,
                ", ".join(each_run.app_id or "?" for each_run in each.runs),
            )
            for each in found
        ],
    )


def actions(home: Home = DEFAULT_HOME, app: Application = "", limit: Limit = 50, as_json: Json = False) -> None:
    """What the fuse did or would have done, newest first."""
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.actions(client, limit, app_id=app or None))
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Actions of the fuse",
        ["at", "who", "outcome", "action", "rule", "application", "stage", "killed", "why"],
        [
            (
                moment(each.at_ms),
                each.actor,
                each.outcome,
                each.action,
                each.rule,
                each.app_id,
                each.stage_id,
                each.killed_tasks,
                each.reason,
            )
            for each in found
        ],
    )


def moment(milliseconds: int | None) -> str | None:
    """A time since the epoch, for people, in the local zone."""
    if milliseconds is None:
        return None
    return dt.datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(milliseconds: float | None) -> str | None:
    """A span of time, for people."""
    return None if milliseconds is None else readable_duration(milliseconds)


def size(count: float | None) -> str | None:
    """A number of bytes, for people."""
    return None if count is None else readable_bytes(count)


def share(ratio: float | None) -> str | None:
    """Completeness of the evidence, rounded down so that 100 % means all of it."""
    return None if ratio is None else f"{int(ratio * 1000) / 10:g} %"
