"""`sparkfuse fuse replay`: shows in which stored runs the policy of a rule would have acted."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Mapping
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
    from sparkfuse_native_analytics.fuse_controller.probes import ProbeRecords
    from sparkfuse_native_analytics.fuse_operator.replay_evidence import ReplayEvidence
    from sparkfuse_rules.rule import Rule

_WITHOUT = "`sparkfuse fuse replay` shows the runs; `--without-replay REASON` arms anyway"


def run_replay(policy: ControllerPolicy, rule: str, since: str, job: str, home: Path, as_json: bool) -> None:
    """Replay the rule's policy over the store and print the result.

    Raises:
        StartError: the time or the rule is not valid, or the store does not answer, has no tables, or has older tables.
    """
    if rule not in policy.rules:
        raise StartError(f"the rule {rule!r} has no fuse; rules with a fuse are: {', '.join(policy.rules)}", USAGE)
    found = _replay(policy, rule, "--since", since, "*", home, job or None)
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
    else:
        _show(rule, found)


def replay_for_arming(
    policy: ControllerPolicy, rule: str, since: str, job_pattern: str, home: Path, probed: Collection[str] = ()
) -> ReplayEvidence:
    """Replay the policy over the runs of the jobs that the arming selects; return the result for the arming.

    ``probed`` contains the ids of applications that were probed, which do not count twice.

    Raises:
        StartError: the replay prevents the arming, or the store does not answer, has no tables, or has older tables.
    """
    from sparkfuse_native_analytics.fuse_operator.replay_evidence import replay_evidence

    try:
        found = _replay(policy, rule, "--replay", since, job_pattern or "*", home)
    except StartError as error:
        raise StartError(f"{rule} cannot be armed without a replay: {error} ({_WITHOUT})", error.exit_code) from error
    evidence = replay_evidence(found, since, policy.safeguards.arming.probes, probed)
    if evidence.refusal:
        raise StartError(f"{rule} cannot be armed: {evidence.refusal} ({_WITHOUT})", USAGE)
    return evidence


def check_probes(
    policy: ControllerPolicy, rule: str, probes: ProbeRecords, replayed: Mapping[str, int] | int = 0
) -> None:
    """Check that the probes are sufficient to arm the rule for all jobs.

    ``replayed`` is how many healthy runs the replay counted, by the hash of the policy, or how many it may count at
    most. Raises StartError.
    """
    arming = policy.safeguards.arming
    for variant in policy.rules[rule].all():
        record = probes.of(rule, variant.policy_hash)
        runs = replayed if isinstance(replayed, int) else replayed.get(variant.policy_hash, 0)
        if record.shortfall(arming, runs):
            short = record.shortfall(arming, 0 if isinstance(replayed, int) else runs)
            raise StartError(f"{rule} cannot be armed: {short} (see `sparkfuse fuse report`)", USAGE)


def _replay(
    policy: ControllerPolicy, rule: str, option: str, since: str, job_pattern: str, home: Path, job: str | None = None
) -> list[PolicyReplay]:
    from sparkfuse_native_analytics.backtest import StoreOlderError, replay_live_rows
    from sparkfuse_native_analytics.fuse_controller.patterns import matches

    variants = policy.rules[rule]
    since_ms = int(time.time() * 1000) - duration_ms(option, since)

    def for_job(job_key: str) -> Rule | None:
        variant = variants.for_job(job_key) if matches(job_pattern, job_key) else None
        return variant.rule if variant else None

    try:
        return ask(home, lambda client: replay_live_rows(client, for_job, since_ms, job))
    except StoreOlderError as error:
        raise StartError(str(error)) from error


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
