"""The command `sparkfuse fuse`: explains what the fuse does and why, and gives orders such as hold, arm and approve."""

from __future__ import annotations

import dataclasses
import getpass
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sparkfuse.commands.fuse_output import (
    chain_state,
    control_row,
    count_steps,
    print_controls,
    print_pending,
    print_report,
    print_steps,
    receipt_row,
    record_row,
)
from sparkfuse.commands.history import DEFAULT_HOME, Home, moment
from sparkfuse.commands.options import HOUR_MS, duration_ms, settings_of_stack
from sparkfuse.commands.output import Json, print_json
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_contracts.settings import Settings

if TYPE_CHECKING:
    from sparkfuse_contracts.generated.control_pb2 import Control
    from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy
    from sparkfuse_native_analytics.fuse_controller.keys import KeyRing
    from sparkfuse_native_analytics.fuse_operator.orders import Operator

Answer = TypeVar("Answer")

commands = typer.Typer(
    help="Show what the fuse does and why; add holds and armings, and approve acts.", no_args_is_help=True
)
Reason = Annotated[str, typer.Option("--reason", help="The reason, in one sentence, for the audit log.")]
Actor = Annotated[str, typer.Option("--actor", help="Your name in the audit log (default: the user of this shell).")]
Key = Annotated[
    Path | None, typer.Option("--key", help="Private key that signs orders (default: SPARKFUSE_APPROVE_KEY).")
]
Rule = Annotated[str, typer.Option("--rule", help="Pattern of the rule, with * and ?.")]
Job = Annotated[str, typer.Option("--job", help="Pattern of the job key, with * and ?.")]
App = Annotated[str, typer.Option("--app", help="Pattern of the application id, with * and ?.")]
Cluster = Annotated[str, typer.Option("--cluster", help="Pattern of the cluster, with * and ?.")]
For = Annotated[str, typer.Option("--for", help="Duration, such as 30m, 12h or 7d.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")]


@commands.command()
def status(home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Show the controller's epoch, the acts of the last hour, and all holds, armings and requests in force."""
    from sparkfuse_native_analytics.fuse_controller.protected import PATTERNS
    from sparkfuse_native_analytics.fuse_operator import state

    settings, now_ms = settings_of_stack(home), _now_ms()
    audit = _ask(lambda: state.read_audit(settings))
    book, in_force = _ask(lambda: state.read_controls(settings, _trusted(settings, home)))
    recent = [record for record in audit.records if now_ms - record.at_ms < HOUR_MS]
    pending, paused = audit.pending_approvals(now_ms), audit.pause()
    protected = _policies(settings).safeguards.protected
    if as_json:
        print_json(
            {
                "epoch": audit.epoch,
                "audit_records": len(audit.records),
                "audit_errors": list(audit.errors),
                "paused": record_row(paused) if paused else None,
                "steps_of_last_hour": count_steps(recent),
                "controls": [control_row(control) for control in in_force],
                "unverified_controls": book.unverified(),
                "protected": [dataclasses.asdict(each) for each in protected],
                "approvals_requested": [{"digest": each.digest, **record_row(each)} for each in pending],
            }
        )
        return
    typer.echo(
        f"Controller: epoch {audit.epoch}; audit log: {len(audit.records)} records, {chain_state(audit.errors)}."
    )
    if paused:
        typer.echo(f"Paused since {moment(paused.at_ms)} (gate {paused.gate}): {paused.reason}.")
    steps = ", ".join(f"{count} {step}" for step, count in count_steps(recent).items()) or "none"
    typer.echo(f"Steps of the last hour: {steps}.")
    for key, reason in book.unverified().items():
        typer.echo(f"Nothing is stopped, because the control {key!r} cannot be verified: {reason}.")
    for each in protected:
        patterns = ", ".join(f"{name} {getattr(each, name)}" for name in PATTERNS if getattr(each, name) != "*")
        typer.echo(f"Protected by sparkfuse.yaml: {patterns or 'every job'} ({each.reason}).")
    print_controls(in_force)
    print_pending(pending)


@commands.command()
def why(app_id: str, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Explain what the fuse did about an application, or why it did nothing; newest first."""
    from sparkfuse_native_analytics.fuse_operator import state

    settings = settings_of_stack(home)
    audit = _ask(lambda: state.read_audit(settings))
    receipts = _ask(lambda: state.read_receipts(settings, app_id))
    steps = [record_row(record) for record in audit.about(app_id, _now_ms())] + [receipt_row(each) for each in receipts]
    steps.sort(key=lambda row: str(row["at_ms"]), reverse=True)
    if as_json:
        print_json(steps)
        return
    if not steps:
        typer.echo(f"The fuse has no record of {app_id}: no rule with a fuse has fired for it, and it was not probed.")
        return
    print_steps(f"The fuse and {app_id}", steps)


@commands.command()
def audit(
    home: Home = DEFAULT_HOME, limit: Limit = 50, verify: Annotated[
        bool, typer.Option("--verify", help="Only verify the chain; exit with 1 if it is broken.")
    ] = False, as_json: Json = False,
) -> None:  # fmt: skip
    """List the records of the audit log, newest first, and verify their chain."""
    from sparkfuse_native_analytics.fuse_operator import state

    log = _ask(lambda: state.read_audit(settings_of_stack(home)))
    if verify:
        for error in log.errors:
            typer.echo(error)
        typer.echo(f"{len(log.records)} records, {chain_state(log.errors)}")
        raise typer.Exit(1 if log.errors else 0)
    rows = [record_row(record) for record in list(log.records)[::-1][:limit]]
    if as_json:
        print_json(rows)
        return
    print_steps(f"Audit log, {chain_state(log.errors)}", rows)


@commands.command()
def report(home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Show for each rule how hooks answered probes and how acts ended; arming a rule requires this record of probes."""
    from sparkfuse_native_analytics.fuse_operator import state

    rows = state.report(_ask(lambda: state.read_audit(settings_of_stack(home))))
    if as_json:
        print_json([dataclasses.asdict(row) for row in rows])
        return
    print_report(rows)


@commands.command()
def replay(
    rule: Annotated[str, typer.Option("--rule", help="Id of the rule.")],
    since: Annotated[str, typer.Option("--since", help="Runs that started within this time, such as 30d.")] = "30d",
    job: Annotated[str, typer.Option("--job", help="Only this job.")] = "",
    home: Home = DEFAULT_HOME,
    as_json: Json = False,
) -> None:
    """Replay stored live rows of ended runs: in which runs would the policy of a rule have acted? Arms nothing."""
    from sparkfuse.commands.fuse_replay import run_replay

    run_replay(_policies(settings_of_stack(home)), rule, since, job, home, as_json)


@commands.command()
def hold(
    reason: Reason, rule: Rule = "", job: Job = "", app: App = "", cluster: Cluster = "", for_: For = "24h",
    home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None,
) -> None:  # fmt: skip
    """Prevent acts on everything that matches all patterns; hooks of running jobs obey before their next act."""
    from sparkfuse_native_analytics.fuse_operator import orders

    if not (rule or job or app or cluster):
        raise StartError(
            "give at least one of --rule, --job, --app and --cluster, or use `sparkfuse fuse stop-everything`", USAGE
        )
    _give(orders.hold(orders.Selection(cluster, rule, job, app), reason, _until(for_)), home, actor, key)


@commands.command("stop-everything")
def stop_everything(
    reason: Reason, for_: For = "24h", home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None
) -> None:
    """Prevent every act of the fuse on every application, now."""
    from sparkfuse_native_analytics.fuse_operator import orders

    _give(orders.stop_everything(reason, _until(for_)), home, actor, key)


@commands.command()
def release(control_id: str, reason: Reason, home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None) -> None:
    """End a hold, or replace a control that cannot be verified; `sparkfuse fuse status` lists the ids."""
    _end(control_id, "hold", reason, home, actor, key)


@commands.command()
def arm(
    rule: Annotated[str, typer.Option("--rule", help="Id of the rule.")],
    action: Annotated[str, typer.Option("--action", help="The action to allow, such as cancel_query.")],
    reason: Reason, job: Job = "", app: App = "", cluster: Cluster = "", for_: For = "90d",
    replay_since: Annotated[str, typer.Option("--replay", help="How far back stored runs are replayed.")] = "60d",
    without_replay: Annotated[
        str, typer.Option("--without-replay", help="Arm without a replay, for this reason.")
    ] = "",
    home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None,
) -> None:  # fmt: skip
    """Allow one action of one rule.

    The arming is refused unless enough healthy runs of the rule were probed and none had a false probe, and if the
    rule would have acted on a stored run that succeeded.
    """
    from sparkfuse.commands.fuse_replay import check_probes, replay_for_arming
    from sparkfuse_native_analytics.fuse_operator import orders, state
    from sparkfuse_native_analytics.fuse_operator.replay_evidence import ReplayEvidence

    settings = settings_of_stack(home)
    policy = _policies(settings)
    variants = policy.rules[rule].all() if rule in policy.rules else []
    if not any(action in (each.rule.fuse.actions if each.rule.fuse else ()) for each in variants):
        raise StartError(f"the rule {rule!r} has no fuse with the action {action!r}", USAGE)
    audit = _ask(lambda: state.read_audit(settings))
    if without_replay:
        check_probes(policy, rule, audit.probes())
        replayed = ReplayEvidence(f"none: {without_replay}")
    else:
        # A replay takes long, so the rule must be one that a replay can arm.
        check_probes(policy, rule, audit.probes(), policy.safeguards.arming.replayed)
        replayed = replay_for_arming(policy, rule, replay_since, job, home, audit.probed(rule))
        check_probes(policy, rule, audit.probes(), replayed.runs)
    control = orders.arm(
        orders.Selection(cluster, rule, job, app), action, reason, _until(for_), replayed.text, replayed.runs
    )
    _give(control, home, actor, key)


@commands.command()
def disarm(control_id: str, reason: Reason, home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None) -> None:
    """End an arming; `sparkfuse fuse status` lists the ids."""
    _end(control_id, "arm", reason, home, actor, key)


@commands.command()
def revoke(key_id: str, reason: Reason, home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None) -> None:
    """Make all signatures of a key invalid for running jobs, permanently; sign this order with another key."""
    from sparkfuse_native_analytics.fuse_operator import orders

    _give(orders.revoke(key_id, reason), home, actor, key)


@commands.command()
def approve(digest: str, home: Home = DEFAULT_HOME, actor: Actor = "", key: Key = None) -> None:
    """Approve one requested act; the approval is valid once, for 15 minutes.

    `sparkfuse fuse status` lists the requests.
    """
    from sparkfuse_native_analytics.fuse_operator import orders, state

    settings = settings_of_stack(home)
    pending = _ask(lambda: state.read_audit(settings)).pending_approvals(_now_ms())
    found = [record for record in pending if record.digest.startswith(digest)]
    if len(found) != 1:
        raise StartError(f"{len(found)} requests match {digest!r}; `sparkfuse fuse status` lists them", USAGE)
    given = _ask(lambda: orders.approve(settings, _operator(settings, home, actor, key), found[0].digest))
    typer.echo(f"{given.approver} approved {found[0].action} of {found[0].app_id} until {moment(given.expires_ms)}.")


@commands.command()
def policies(home: Home = DEFAULT_HOME) -> None:
    """Print the policies of all rules with a fuse, one JSON object per line, for `spark.sparkfuse.fuse.policies`."""
    from sparkfuse.stack.job_properties import policy_lines

    typer.echo(policy_lines(settings_of_stack(home)), nl=False)


@commands.command()
def actuator(
    backend: Annotated[
        str, typer.Option("--backend", help="The cluster manager: kubernetes, yarn, databricks or standalone.")
    ],
    config: Annotated[Path, typer.Option("--config", help="The configuration file of the actuator.")],
) -> None:
    """Run the external actuator, which ends hung and zombie applications through the cluster manager, until SIGTERM."""
    from sparkfuse_native_analytics.fuse_actuator.__main__ import main

    raise typer.Exit(main(["--backend", backend, "--config", str(config)]))


def _policies(settings: Settings) -> ControllerPolicy:
    from sparkfuse_native_analytics.fuse_controller.controller_policy import read_policies
    from sparkfuse_rules.errors import RuleError

    try:
        return read_policies(settings)
    except RuleError as error:
        raise StartError(str(error), USAGE) from error


def _give(control: Control, home: Path, actor: str, key: Path | None) -> None:
    from sparkfuse_native_analytics.fuse_operator import orders

    settings = settings_of_stack(home)
    given = _ask(lambda: orders.give(settings, _operator(settings, home, actor, key), control))
    until = f" until {moment(given.until_ms)}" if given.HasField("until_ms") and not given.released else ""
    state = "released" if given.released else "in force"
    typer.echo(f"{given.kind} {given.control_id}: {state}{until} ({given.actor}: {given.reason})")


def _end(control_id: str, kind: str, reason: str, home: Path, actor: str, key: Path | None) -> None:
    from sparkfuse_native_analytics.fuse_operator import orders, state

    settings = settings_of_stack(home)
    book, in_force = _ask(lambda: state.read_controls(settings, _trusted(settings, home)))
    found = next((each for each in in_force if (each.control_id, each.kind) == (control_id, kind)), None)
    if kind == "hold" and control_id in book.unverified():
        # While a control cannot be verified, nothing is stopped; a signed release with the same id replaces the
        # control.
        found = orders.hold(orders.Selection(), reason, _now_ms(), control_id)
    if found is None:
        raise StartError(f"no {kind} {control_id!r} is in force; `sparkfuse fuse status` lists them", USAGE)
    _give(orders.release(found, reason), home, actor, key)


def _ask(question: Callable[[], Answer]) -> Answer:
    from sparkfuse_native_analytics.topic_records import TopicError

    try:
        return question()
    except TopicError as error:
        raise StartError(str(error), MISSING) from error


def _trusted(settings: Settings, home: Path) -> KeyRing:
    from sparkfuse_native_analytics.fuse_controller.keys import KeyUnusableError, ensure_key_pairs, read_key_ring

    try:
        return read_key_ring(settings.public_keys or ensure_key_pairs(home / "keys"))
    except KeyUnusableError as error:
        raise StartError(str(error), USAGE) from error


def _operator(settings: Settings, home: Path, actor: str, key: Path | None) -> Operator:
    from sparkfuse_native_analytics.fuse_controller.keys import (
        APPROVE,
        KeyUnusableError,
        load_private_key,
        private_key_file,
    )
    from sparkfuse_native_analytics.fuse_operator.orders import Operator

    path = key or settings.approve_key_file or private_key_file(home / "keys", APPROVE)
    try:
        return Operator(actor or getpass.getuser(), load_private_key(path))
    except KeyUnusableError as error:
        raise StartError(str(error), USAGE) from error


def _until(text: str) -> int:
    return _now_ms() + duration_ms("--for", text)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
