"""Tables and JSON of the command `sparkfuse fuse`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from sparkfuse.commands.history import moment, money
from sparkfuse.commands.output import print_table

if TYPE_CHECKING:
    from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
    from sparkfuse_contracts.generated.control_pb2 import Control
    from sparkfuse_contracts.generated.receipt_pb2 import Receipt
    from sparkfuse_native_analytics.fuse_operator.state import RuleReport


def chain_state(errors: Sequence[str]) -> str:
    """Return whether the chain of the audit log is intact, as the end of a sentence."""
    return f"the chain is broken at {len(errors)} places" if errors else "the chain is intact"


def count_steps(records: Sequence[AuditRecord]) -> dict[str, int]:
    """Return the number of records of each step."""
    steps = [record.step for record in records]
    return {step: steps.count(step) for step in sorted(set(steps))}


def control_row(control: Control) -> dict[str, object]:
    """Return a control as JSON."""
    return {
        "control_id": control.control_id, "kind": control.kind, "cluster": control.cluster, "rule": control.rule,
        "job": control.job, "app": control.app, "action": control.action, "key_id": control.key_id,
        "actor": control.actor, "reason": control.reason,
        "until": _iso(control.until_ms) if control.HasField("until_ms") else None,
        "replay": control.replay or None,
    }  # fmt: skip


def record_row(record: AuditRecord) -> dict[str, object]:
    """Return an audit record as JSON."""
    return {
        "at_ms": record.at_ms, "actor": record.actor, "step": record.step, "outcome": record.outcome or None,
        "gate": record.gate or None, "rule": record.rule or None, "action": record.action or None,
        "mode": record.mode or None, "app_id": record.app_id or None, "reason": record.reason or None,
        "cost": record.cost if record.HasField("cost") else None,
        "cost_avoided": record.cost_avoided if record.HasField("cost_avoided") else None,
        "currency": record.currency or None,
    }  # fmt: skip


def receipt_row(receipt: Receipt) -> dict[str, object]:
    """Return a receipt as JSON, with the same fields as an audit record."""
    return {
        "at_ms": receipt.at_ms, "actor": "hook", "step": receipt.outcome, "outcome": None, "gate": receipt.gate or None,
        "rule": receipt.rule or None, "action": receipt.action or None, "mode": receipt.mode or None,
        "app_id": receipt.app_id, "reason": receipt.reason or None,
        "cost": None, "cost_avoided": None, "currency": None,
    }  # fmt: skip


def print_report(rows: Sequence[RuleReport]) -> None:
    """Print how hooks answered probes and how acts ended, one line per rule."""
    headings = ["rule", "policy", "healthy runs", "false", "right", "missed", "acts", "ended", "unfreed", "saved",
                "cost", "cost avoided", "cost missed"]  # fmt: skip
    print_table(
        "Probes by run, and acts",
        headings,
        [
            (
                row.rule,
                row.policy_hash[:12],
                row.healthy_runs,
                row.false_positives,
                row.true_positives,
                row.false_negatives,
                row.acts,
                row.ended,
                row.unfreed,
                None if row.median_seconds_saved is None else f"{row.median_seconds_saved:.0f} s",
                money(row.costs.cost, row.costs.currency),
                money(row.costs.cost_avoided, row.costs.currency),
                money(row.costs.cost_missed, row.costs.currency),
            )
            for row in rows
        ],
    )


def print_steps(title: str, rows: Sequence[dict[str, object]]) -> None:
    """Print steps of the fuse, one line per step."""
    headings = ["actor", "step", "outcome", "gate", "action", "mode", "rule", "app_id", "reason"]
    table = [[_moment_of(row), *(row[name] for name in headings)] for row in rows]
    print_table(title, ["time", *headings[:-2], "application", "reason"], table)


def _moment_of(row: dict[str, object]) -> str | None:
    at_ms = row["at_ms"]
    return moment(at_ms) if isinstance(at_ms, int) else None


def print_controls(controls: Sequence[Control]) -> None:
    """Print the holds, armings and revocations in force."""
    headings = ["id", "kind", "what", "by", "reason", "until", "replay"]
    rows = [
        (each.control_id, each.kind, _selection(each), each.actor, each.reason,
         moment(each.until_ms) if each.HasField("until_ms") else "for ever", each.replay)
        for each in controls
    ]  # fmt: skip
    if rows:
        print_table("In force", headings, rows)
    else:
        typer.echo("No hold, arming or revocation is in force.")


def _selection(control: Control) -> str:
    parts = {"rule": control.rule, "action": control.action, "job": control.job, "app": control.app,
             "cluster": control.cluster, "key": control.key_id}  # fmt: skip
    return ", ".join(f"{name} {text}" for name, text in parts.items() if text) or "everything"


def print_pending(pending: Sequence[AuditRecord]) -> None:
    """Print the requests that wait for approval; nothing if there are none."""
    if pending:
        rows = [(each.digest[:16], each.action, each.rule, each.app_id, each.job_key, each.reason) for each in pending]
        print_table("Waiting for approval", ["digest", "action", "rule", "application", "job", "evidence"], rows)


def _iso(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="seconds")
