"""Test data for the fuse controller: rows of a runaway stage, its finding, and an Environment without I/O."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.environment import FencedError
from sparkfuse_native_analytics.fuse_controller.gates import Health
from sparkfuse_native_analytics.fuse_controller.keys import (
    ACT,
    APPROVE,
    SWITCH,
    KeyRing,
    TrustedKey,
    key_entry,
    key_id,
)
from sparkfuse_native_analytics.fuse_controller.signing import sign, verify
from sparkfuse_native_analytics.fuse_controller.silences import Silence, SilencesUnknownError

RULE = "stage_runaway_spill"
START_MS = 1_795_226_400_000
NOW_MS = START_MS + 3_600_000
MINUTE_MS = 60_000


def live_row(app_id="app-1", now_ms=NOW_MS, seq=1, completeness=1.0, cluster="prod", **stage):
    """Return the row of a running stage that has spilled 60 GB without reading; ``stage`` overrides columns."""
    columns = {
        "stage_id": 3, "stage_attempt": 0, "name": "sort at job.py:7", "status": "running", "elapsed_ms": 900_000,
        "disk_spilled_bytes": 60_000_000_000, "running_spilled_since_progress_max_bytes": 60_000_000_000,
        "running_since_progress_min_ms": 700_000, "running_since_spill_ms": 2_000, "running_tasks": 2,
        "finished_tasks": 0,
    }  # fmt: skip
    return LiveRow(
        view="stage_live", cluster=cluster, tenant="sales", app_id=app_id, app_attempt=0, app_start_ms=START_MS,
        window_end_ms=now_ms, row_seq=seq, completeness=completeness, stage=StageLive(**{**columns, **stage}),
    )  # fmt: skip


def healthy_row(app_id="healthy-1", now_ms=NOW_MS, seq=1, **stage):
    """Return the row of a running stage that does not spill."""
    return live_row(app_id, now_ms, seq, **{"running_spilled_since_progress_max_bytes": 0, **stage})


def application_row(app_id, status, now_ms=NOW_MS, seq=99):
    """Return the row of an application that ended with ``status``."""
    row = LiveRow(view="app_live", cluster="prod", app_id=app_id, app_attempt=0, app_start_ms=START_MS,
                  window_end_ms=now_ms, row_seq=seq)  # fmt: skip
    row.application.status = status
    return row


def finding(app_id="app-1", now_ms=NOW_MS, job_key="orders", severity="critical", completeness=1.0, state="firing",
            cluster="prod", **run):  # fmt: skip
    """Return the finding that the detect job emits for the row of the runaway stage."""
    of_run = FindingRun(**{"run_key": app_id, "app_id": app_id, "app_attempt": 0, "app_start_ms": START_MS,
                           "stage_id": 3, "stage_attempt": 0, "state": state, "severity": severity,
                           "stage_name": "q0: sort orders", **run})  # fmt: skip
    return Finding(
        finding_id=f"finding-{app_id}", rule=RULE, severity=severity, state=state, job_key=job_key, cluster=cluster,
        tenant="sales", team="data", updated_ms=now_ms, completeness=completeness, runs=[of_run],
    )  # fmt: skip


def hold(control_id="hold-1", **fields):
    """Return a hold that matches every application and rule."""
    return Control(**{"control_id": control_id, "kind": "hold", "actor": "dana", "reason": "release night",
                      "issued_ms": NOW_MS - 1000, "until_ms": NOW_MS + 3_600_000, **fields})  # fmt: skip


def arming(action="cancel_stage", **fields):
    """Return an arming of the rule for all jobs."""
    return Control(**{"control_id": f"arm-{action}", "kind": "arm", "actor": "dana", "reason": "probed", "rule": RULE,
                      "action": action, "issued_ms": NOW_MS - 1000, "until_ms": NOW_MS + 24 * 3_600_000,
                      **fields})  # fmt: skip


class Keys:
    """A key pair for each purpose, and the key ring with all public keys."""

    signatures = "ecdsa"

    def __init__(self, last_day: date = date(2099, 12, 31)) -> None:
        self.private: dict[str, EllipticCurvePrivateKey] = {
            purpose: generate_private_key(SECP256R1()) for purpose in (ACT, SWITCH, APPROVE)
        }
        self.ring = KeyRing(
            TrustedKey(key_id(key.public_key()), purpose, last_day, key.public_key())
            for purpose, key in self.private.items()
        )

    def setting(self) -> str:
        """Return the public keys in the format of the plugin's setting."""
        entries = []
        for key in self.ring.values():
            der = key.public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            entries.append(key_entry(key.purpose, key.last_day, base64.b64encode(der).decode()))
        return ",".join(entries)

    def control(self, control: Control) -> bytes:
        """Return the signed record of a control."""
        return to_json(sign(control, "controls", APPROVE, self.private[APPROVE]))

    def approval(self, approval: Approval) -> bytes:
        """Return the signed record of an approval."""
        return to_json(sign(approval, "approvals", APPROVE, self.private[APPROVE]))


@dataclass
class World:
    """An Environment that stores written records in lists instead of Kafka topics."""

    keys: Keys
    time_ms: int = NOW_MS
    contents: list[bytes] = field(default_factory=list)
    appended_ms: list[int] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    active_silences: list[Silence] = field(default_factory=list)
    alertmanager: bool = True
    broken: bool = False
    fenced: bool = False
    state: Health = field(default_factory=Health)
    arriving: list[Callable[[], None]] = field(default_factory=list)

    def now_ms(self) -> int:
        """Return the fixed time."""
        return self.time_ms

    def refresh(self) -> None:
        """Give the controller the rows that arrive between the decision and the act."""
        for arrive in self.arriving:
            arrive()

    def health(self) -> Health:
        """Return the health that the test set."""
        return self.state

    def silences(self):
        """Return the silences that the test set."""
        if not self.alertmanager:
            raise SilencesUnknownError("none answers")
        return self.active_silences

    def write(self, audit, signals) -> int:
        """Store the audit records, and each signal after its signature was verified as the hook verifies it."""
        if self.fenced:
            raise FencedError("another controller has taken over")
        if self.broken:
            raise OSError("the broker does not answer")
        broker_ms = self.state.broker_ms(self.time_ms)
        self.contents += [content for _, content in audit]
        self.appended_ms += [broker_ms for _ in audit]
        for _, signed in signals:
            self.signals.append(verify(signed, Signal, "signals", ACT, self.keys.ring, self.time_ms))
        return broker_ms

    @property
    def records(self) -> list[AuditRecord]:
        """Return the audit records about applications, not those about controller starts or people's orders."""
        found = [from_json(AuditRecord, content) for content in self.contents]
        return [record for record in found if record.step != "started" and not record.control_id]

    @property
    def orders(self) -> list[AuditRecord]:
        """Return the audit records of people's orders."""
        found = [from_json(AuditRecord, content) for content in self.contents]
        return [record for record in found if record.control_id]

    @property
    def steps(self) -> list[str]:
        """Return the steps of the audit records about applications, in order."""
        return [record.step for record in self.records]

    @property
    def acts(self) -> list[Signal]:
        """Return the signals that are not probes."""
        return [signal for signal in self.signals if not signal.probe]

    @property
    def probes(self) -> list[Signal]:
        """Return the probes."""
        return [signal for signal in self.signals if signal.probe]

    def replay_into(self, controller: FuseController) -> None:
        """Let a new controller read the audit log, as after a restart."""
        for content, appended_ms in zip(self.contents, self.appended_ms, strict=True):
            controller.audit.read(content, from_json(AuditRecord, content), appended_ms)


def answer(signal: Signal, outcome: str, **fields) -> Receipt:
    """Return the hook's receipt for a signal."""
    return Receipt(**{"receipt_id": f"{signal.signal_id}-{outcome}", "signal_id": signal.signal_id,
                      "cluster": signal.cluster, "app_id": signal.app_id, "outcome": outcome, "at_ms": NOW_MS,
                      **fields})  # fmt: skip


def put(world: World, controller: FuseController, control: Control) -> str | None:
    """Give the controller a signed control; return why it is rejected, else None."""
    return controller.controls.put(control.control_id, world.keys.control(control), world.time_ms)
