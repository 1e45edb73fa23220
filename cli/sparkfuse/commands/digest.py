"""`sparkfuse digest`: what a team's jobs cost and waste, what applied advice gained, and which findings stay open."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.analysis.engines import do_without_pandas
from sparkfuse.analysis.terminal_text import printable
from sparkfuse.commands.history import DEFAULT_HOME, Home, ask, moment, money
from sparkfuse.commands.options import duration_ms
from sparkfuse.commands.output import Json, print_json
from sparkfuse.commands.run import prices_of
from sparkfuse.stack.errors import USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries import CostRow
    from sparkfuse_native_analytics.queries.team_digest import TeamDigest

OfTeam = Annotated[str, typer.Option("--team", help="The team, as spark.sparkfuse.team of its jobs names it.")]
Since = Annotated[str, typer.Option("--since", help="The period, such as 7d or 4w.")]
SHOWN_FINDINGS = 10


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(digest)


def digest(team: OfTeam, home: Home = DEFAULT_HOME, since: Since = "7d", as_json: Json = False) -> None:
    """Show what a team's jobs cost and waste, what applied advice gained, and which findings stay open.

    Notifies nobody. Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics.queries.team_digest import team_digest

    if not team.strip():
        raise StartError("--team must name a team; `sparkfuse cost` lists teams", USAGE)
    do_without_pandas()
    prices, now_ms = prices_of(home), time.time_ns() // 1_000_000
    since_ms = now_ms - duration_ms("--since", since)
    found = ask(home, lambda client: team_digest(client, team, prices, since_ms, now_ms))
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    for line in digest_lines(found):
        typer.echo(printable(line))


def digest_lines(found: TeamDigest) -> list[str]:
    """Return the digest as lines of text; unknown money says so."""
    from sparkfuse_native_analytics.queries.team_digest import MAX_FINDINGS

    total = found.total
    lines = [
        f"{found.team} since {moment(found.since_ms)}: {total.runs} ended runs, {total.failed_runs} failed.",
        f"Cost {_money(total.cost, found)}, waste {_waste(total, found)}.",
    ]
    if total.unpriced_runs:
        lines.append(f"{total.unpriced_runs} runs have no known price and are in no sum of money.")
    if found.jobs:
        lines += ["", "Jobs with the largest waste:"]
        lines += [f"  {each.name}: cost {_money(each.cost, found)}, waste {_waste(each, found)}" for each in found.jobs]
    if found.applied:
        lines += ["", f"Applied advice, verified savings {_money(found.saved_cost, found)}:"]
    for saving in found.applied:
        settings = ", ".join(f"{each.key}={each.after}" for each in saving.outcome.settings)
        amount = _money(saving.outcome.saved_cost, found)
        lines.append(f"  {saving.job_key}: {saving.outcome.state.replace('_', ' ')}, {settings}, saved {amount}")
    of_these = "of them" if found.firing_findings <= MAX_FINDINGS else f"of the {MAX_FINDINGS} most severe ones"
    counted = f"{len(found.chronic)} {of_these} started before the period"
    lines += ["", f"Firing findings: {found.firing_findings}; {counted}."]
    lines += [
        f"  {each.severity} {each.rule} of {each.job_key or 'no job'} since {moment(each.started_ms)}"
        for each in found.chronic[:SHOWN_FINDINGS]
    ]
    if len(found.chronic) > SHOWN_FINDINGS:
        more = len(found.chronic) - SHOWN_FINDINGS
        lines.append(f"  and {more} more; `sparkfuse findings --state firing --team {found.team}` lists them.")
    return lines


def _money(amount: float | None, found: TeamDigest) -> str:
    return money(amount, found.currency) or "unknown"


def _waste(row: CostRow, found: TeamDigest) -> str:
    share = "" if row.waste_share is None else f" ({row.waste_share:.0%} of the core-hours)"
    return f"{_money(row.waste.cost, found)}{share}"
