"""`sparkfuse fuse replay`: shows in which stored runs the policy of a rule would have acted."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sparkfuse.commands.history import ask
from sparkfuse.commands.options import duration_ms
from sparkfuse.commands.output import print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.backtest import PolicyReplay
    from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy


def run_replay(policy: ControllerPolicy, rule: str, since: str, job: str, home: Path, as_json: bool) -> None:
    """Replay the rule's policy over the store and print the result.

    Raises:
        StartError: the time or the rule is not valid, or the store does not answer, has no tables, or has older tables.
    """
    from sparkfuse_native_analytics.backtest import StoreOlderError, replay_live_rows

    if rule not in policy.rules:
        raise StartError(f"the rule {rule!r} has no fuse; rules with a fuse are: {', '.join(policy.rules)}", USAGE)
    variants = policy.rules[rule]
    since_ms = int(time.time() * 1000) - duration_ms("--since", since)

    try:
        found = ask(
            home,
            lambda client: replay_live_rows(
                client,
                lambda job_key: variant.rule if (variant := variants.for_job(job_key)) else None,
                since_ms,
                job or None,
            ),
        )
    except StoreOlderError as error:
        raise StartError(str(error)) from error
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
    else:
        _show(rule, found)


def _show(rule: str, found: list[PolicyReplay]) -> None:
    rows = [
        (each.policy_hash[:12], len(each.healthy_runs), len(each.false_runs), len(each.failed_runs),
         len(each.right_runs))
        for each in found
    ]  # fmt: skip
    if not rows:
        typer.echo(f"The store has no ended run to which {rule} applies.")
        return
    headings = ["policy", "healthy runs", "would act", "failed runs", "would act on failed"]
    print_table(f"Replay of {rule} over stored live rows", headings, rows)
    for app_id in [app_id for each in found for app_id in each.false_runs]:
        typer.echo(f"The policy would have acted on {app_id}, although this run succeeded.")
    if left_out := dict.fromkeys(name for each in found for name in each.left_out):
        typer.echo(f"Conditions that were not checked, because stored rows lack their columns: {', '.join(left_out)}.")
