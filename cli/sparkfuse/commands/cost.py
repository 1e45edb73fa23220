"""`sparkfuse cost`: what teams and jobs cost in a period, and what was wasted."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home, Limit, Team, ask, money
from sparkfuse.commands.options import duration_ms
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.commands.run import prices_of
from sparkfuse.stack.errors import USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries import CostRow, Costs

By = Annotated[str, typer.Option("--by", help="One row for each team, or for each job.")]
Since = Annotated[str, typer.Option("--since", help="Only runs that started in this period, such as 7d or 8w.")]
CHOICES = ("team", "job")
_HEADINGS = ["runs", "failed", "core-hours", "GiB-hours", "cost", "waste", "share", "failed runs", "idle cores",
             "repeated tasks", "without price"]  # fmt: skip


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(cost)


def cost(
    home: Home = DEFAULT_HOME,
    by: By = "team",
    since: Since = "30d",
    team: Team = "",
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Show what teams or jobs cost in a period and what they wasted, the largest waste first.

    Counts ended runs. Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    if by not in CHOICES:
        raise StartError(f"--by must be team or job, but is {by!r}", USAGE)
    prices = prices_of(home)
    since_ms = time.time_ns() // 1_000_000 - duration_ms("--since", since)
    found = ask(home, lambda client: queries.costs(client, prices, by, since_ms, team=team, limit=limit))
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    rows = [_cells(each.name or f"(no {by})", each, found) for each in (*found.rows, found.total)]
    rows[-1] = ("all", *rows[-1][1:])
    print_table(f"Costs by {by}", [by, *_HEADINGS], rows)
    for line in notes(found):
        typer.echo(line)


def notes(found: Costs) -> list[str]:
    """Return sentences about the prices, and about what the sums do not contain."""
    lines = [
        f"Money is an estimate from {found.prices}."
        if found.prices
        else "Money is unknown: sparkfuse.yaml has `prices: off`."
    ]
    if found.total.unpriced_runs:
        lines.append(
            f"{found.total.unpriced_runs} of {found.total.runs} runs are in no sum of money, because their executors "
            "or their memory are not known."
        )
    if found.rows_total > len(found.rows):
        lines.append(f"{found.rows_total - len(found.rows)} more are not shown; use --limit.")
    return lines


def _cells(name: str, row: CostRow, found: Costs) -> tuple[object, ...]:
    return (
        name,
        row.runs,
        row.failed_runs,
        f"{row.core_hours:,.1f}",
        f"{row.gib_hours:,.1f}",
        money(row.cost, found.currency) or "unknown",
        money(row.waste.cost, found.currency) or "unknown",
        None if row.waste_share is None else f"{row.waste_share:.0%}",
        *(money(each.cost, found.currency) or "unknown" for each in (row.failed, row.idle, row.retried)),
        row.unpriced_runs,
    )
