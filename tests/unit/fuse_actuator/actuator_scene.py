"""Test data: a zombie application, an armed rule, and an actuator that would end the application, all in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_actuator.actuator import Actuator, SignalRecord
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import ActuatorSettings, OwnBudget
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import Application, Ended, Found, ManagerError, Running
from sparkfuse_native_analytics.fuse_actuator.external_policies import read_external_policies
from sparkfuse_native_analytics.fuse_actuator.gates import GATES
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook
from sparkfuse_native_analytics.fuse_controller.signing import sign, target_digest
from sparkfuse_rules.policies import policy_hash
from tests.unit.fuse_controller.scene import Keys, arming, hold

START_MS = 1_795_226_400_000
NOW_MS = START_MS + 7_200_000
APP_ID = "application_1795220000000_0042"
RULE = "application_zombie"
INSTANCE = "appattempt_1795220000000_0042_000001"


def policy_line(*, approval: bool = False, rule: str = RULE) -> str:
    """Return a policy that allows an external stop half an hour after the application has ended."""
    return json.dumps(
        {
            "rule": rule,
            "view": "app_live",
            "actions": ["external_stop"],
            "conditions": [{"column": "outlived_ms", "operator": ">=", "threshold": 1_800_000.0}],
            "after_ms": 1_800_000,
            "max_counter_age_ms": 20_000,
            "requires_approval": approval,
            "shared_driver": False,
        }
    )


class ScriptedManager:
    """A cluster manager in memory; the test sets what the manager finds and what a stop does."""

    def __init__(self) -> None:
        self.found: Found = Running(INSTANCE, START_MS - 20_000, 1)
        self.after_stop: Found = Ended("KILLED")
        self.error = ""
        self.stops: list[str] = []
        self.looks = 0

    def find(self, application: Application) -> Found:
        self.looks += 1
        return self.found

    def stop(self, application: Application, instance: str) -> None:
        self.stops.append(instance)
        self.found = self.after_stop
        if self.error:
            raise ManagerError(self.error)

    def check(self) -> None:
        pass


@dataclass
class Edge:
    """The clocks, topics and records of the actuator, in memory.

    ``on_receipt`` maps an outcome to a function that runs when a receipt with this outcome is written.
    """

    keys: Keys
    receipts: list[Receipt] = field(default_factory=list)
    now_ms: int = NOW_MS
    monotonic_ms: int = 5_000
    latest: LiveRow | None = None
    records: dict[int, AuditRecord] = field(default_factory=dict)
    book: ControlBook | None = None
    acknowledges: bool = True
    unverified: int = 0
    pause_ms: int = 0
    on_receipt: dict = field(default_factory=dict)
    waited_ms: int = 0

    def clock_ms(self) -> int:
        return self.monotonic_ms

    def wall_ms(self) -> int:
        return 1  # no decision may depend on it

    def wait(self, milliseconds: int) -> None:
        self.waited_ms += milliseconds
        self.pass_time(milliseconds)

    def pass_time(self, milliseconds: int) -> None:
        self.monotonic_ms += milliseconds
        self.now_ms += milliseconds

    def write(self, receipt: Receipt) -> int | None:
        self.receipts.append(receipt)
        if action := self.on_receipt.pop(receipt.outcome, None):
            action()
        return self.now_ms if self.acknowledges else None

    def controls(self) -> ControlBook | None:
        pause_ms, self.pause_ms = self.pause_ms, 0
        self.pass_time(pause_ms)
        return self.book

    def announcement(self, signal: Signal) -> AuditRecord | None:
        return self.records.get(signal.generation)

    def row(self, signal: Signal) -> LiveRow | None:
        return self.latest

    def settings(self, signal: Signal):
        return {}

    def count(self, signal: Signal, outcome: str, gate: str) -> None:
        pass

    def count_unverified(self) -> None:
        self.unverified += 1


class Scene:
    """All parts of one test; each part can be changed before a signal is sent."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self.keys, self.folder = keys, folder
        self.edge, self.manager = Edge(keys), ScriptedManager()
        self.edge.book = ControlBook(keys.ring)
        self.control(arming("external_stop", rule=RULE, until_ms=NOW_MS + 10**9))
        self.edge.latest = self.row()
        self.settings = ActuatorSettings(
            "prod", folder / "actuator.json", folder / "policies.jsonl", "act", ("nightly/*",), OwnBudget(1, 2)
        )
        self.lines = [policy_line(), policy_line(approval=True), policy_line(rule="other")]
        self.gates = dict(GATES)
        self._actuator: Actuator | None = None

    def actuator(self) -> Actuator:
        """Return the actuator; the first call creates it from the parts."""
        if self._actuator is None:
            self.settings.policies.write_text("".join(f"{line}\n" for line in self.lines))
            policies = read_external_policies(self.settings.policies)
            self._actuator = Actuator(self.settings, policies, self.keys.ring, self.manager, self.edge, self.gates)
        return self._actuator

    def restart(self) -> None:
        """Replace the actuator process; only the state file and the topics remain."""
        self._actuator = None

    def control(self, control) -> None:
        """Add an order of an operator."""
        self.edge.book.put(control.control_id, self.keys.control(control), NOW_MS - 1000)

    def hold(self) -> None:
        """Add a hold that matches everything."""
        self.control(hold(until_ms=NOW_MS + 10**9))

    def row(self, now_ms: int = NOW_MS, completeness: float = 1.0, start_ms: int = START_MS, **columns: Any) -> LiveRow:
        """Return the latest row of the zombie; ``columns`` overrides columns."""
        application = AppLive(**{"status": "succeeded", "executors": 8, "outlived_ms": 3_000_000, **columns})
        return LiveRow(view="app_live", cluster="prod", app_id=APP_ID, app_attempt=1, app_start_ms=start_ms,
                       window_end_ms=now_ms, row_seq=9, completeness=completeness, application=application)  # fmt: skip

    def signal(self, generation: int = 7, *, line: str | None = None, **changes: Any) -> Signal:
        """Return a valid signal."""
        return Signal(**{
            "signal_id": f"s-{generation}", "cluster": "prod", "app_id": APP_ID, "app_attempt": 1,
            "app_start_ms": START_MS, "epoch": 4, "generation": generation, "rule": RULE, "action": "external_stop",
            "policy_hash": policy_hash(line or policy_line()), "job_key": "nightly/load",
            "issued_ms": self.edge.now_ms, "expires_ms": self.edge.now_ms + 120_000, **changes,
        })  # fmt: skip

    def approve(self, signal: Signal, approval_id: str = "a-1", **changes: Any) -> Signal:
        """Attach the approval of a person to a signal."""
        approval = Approval(**{"approval_id": approval_id, "digest": target_digest(signal), "approver": "dana",
                               "issued_ms": NOW_MS, "expires_ms": NOW_MS + 900_000, **changes})  # fmt: skip
        signal.approval.CopyFrom(sign(approval, "approvals", "approve", self.keys.private["approve"]))
        return signal

    def send(self, signal: Signal, *, purpose: str = "act", announced: bool = True, appended_ms: int | None = -1):
        """Let the actuator receive a signal; return the outcome and the gate of the signal's last receipt."""
        if announced:
            self.edge.records[signal.generation] = AuditRecord(
                sequence=signal.generation, signal_id=signal.signal_id, app_id=signal.app_id, rule=signal.rule,
                action=signal.action, epoch=signal.epoch)  # fmt: skip
        content = to_json(sign(signal, "signals", purpose, self.keys.private[purpose]))
        at_ms = self.edge.now_ms if appended_ms == -1 else appended_ms
        before = len(self.edge.receipts)
        self.actuator().receive(SignalRecord(content, at_ms))
        receipts = self.edge.receipts[before:]
        return (receipts[-1].outcome, receipts[-1].gate) if receipts else None

    def outcomes(self) -> list[str]:
        """Return the outcomes of all receipts."""
        return [receipt.outcome for receipt in self.edge.receipts]
