"""`sparkfuse rules backtest`: evaluates the rules on the runs in the store."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sparkfuse.commands.history import ask, moment
from sparkfuse.commands.options import duration_ms
from sparkfuse.commands.output import print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.backtest import Backtest, JobResult, RuleResult
    from sparkfuse_rules.catalog import Catalog

_COUNTS = ("runs", "judged", "critical", "warning", "info", "silenced", "stages", "stopped")
_HEADINGS = ["evaluated", "critical", "warning", "info", "per 100 runs", "suppressed", "stages", "would stop"]


def run_backtest(known: Catalog, since: str, only: Sequence[str], job: str, home: Path, as_json: bool) -> None:
    """Evaluate the rules on the store and print the result.

    Raises:
        StartError: the time or a rule is not valid, or the store does not answer, has no tables, or has older tables.
    """
    from sparkfuse_native_analytics.backtest import StoreOlderError, backtest

    if unknown := [name for name in only if name not in known]:
        raise StartError(f"there is no rule {unknown[0]!r}; the rules are: {', '.join(known)}", USAGE)
    until_ms = int(time.time() * 1000)
    since_ms = until_ms - duration_ms("--since", since)
    try:
        found = ask(
            home,
            lambda client: backtest(client, known.values(), since_ms, until_ms, job_key=job or None, only=only),
        )
    except StoreOlderError as error:
        raise StartError(str(error)) from error
    if as_json:
        print_json(as_document(found))
    else:
        _show(found, by_job=bool(only))


def as_document(found: Backtest) -> dict[str, Any]:
    """Return the JSON document; docs/backtest.md describes its keys."""
    return {
        "since_ms": found.since_ms,
        "until_ms": found.until_ms,
        "runs": found.runs,
        "jobs": found.jobs,
        "rules": [_rule(rule) for rule in found.rules],
    }


def _rule(result: RuleResult) -> dict[str, Any]:
    return {
        "rule": result.rule,
        "view": result.view,
        "action": result.action,
        "not_decidable": result.not_decidable,
        **_counts(result.total()),
        "by_job": [{"job_key": job.job_key, **_counts(job)} for job in result.jobs],
    }


def _counts(result: JobResult) -> dict[str, Any]:
    counts = dataclasses.asdict(result)
    return {**{name: counts[name] for name in _COUNTS}, "per_100_runs": result.per_100_runs}


def _show(found: Backtest, by_job: bool) -> None:
    typer.echo(
        f"{found.runs} runs of {found.jobs} jobs, started between {moment(found.since_ms)} and {moment(found.until_ms)}"
    )
    if not found.runs:
        typer.echo("The store has no ended run of this period; `sparkfuse backfill` adds runs from event logs.")
        return
    decided = [rule for rule in found.rules if rule.not_decidable is None]
    if decided:
        print_table(
            "Runs in which each rule would have fired",
            ["rule", *_HEADINGS],
            [_cells(rule.rule, rule.total()) for rule in decided],
        )
    if by_job:
        for rule in decided:
            print_table(rule.rule, ["job", *_HEADINGS], [_cells(job.job_key, job) for job in rule.jobs])
    undecided = [(rule.rule, rule.not_decidable) for rule in found.rules if rule.not_decidable is not None]
    if undecided:
        print_table("Rules that history cannot evaluate; their result is unknown", ["rule", "reason"], undecided)


def _cells(name: str, result: JobResult) -> tuple[Any, ...]:
    return (
        name,
        f"{result.judged} of {result.runs}",
        result.critical,
        result.warning,
        result.info,
        result.per_100_runs,
        result.silenced,
        result.stages,
        result.stopped,
    )
