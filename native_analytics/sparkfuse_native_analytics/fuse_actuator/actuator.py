"""Handles one signal at a time: verifies it, reads everything that the gates need, decides, and ends the application.

Two witnesses must agree: the finding that caused the signal, and the actuator's own reading at the moment of the act.
This reading must show that the cluster manager still runs this instance, and that the latest row of the application
shows no life.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_actuator.actuator_memory import (
    Memory,
    MemoryUnusableError,
    Stop,
    read_memory,
    write_memory,
)
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import ActuatorSettings
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import (
    Application,
    ClusterManager,
    Ended,
    Found,
    ManagerError,
    Running,
    documented_answers,
    look,
)
from sparkfuse_native_analytics.fuse_actuator.external_policies import ExternalPolicy
from sparkfuse_native_analytics.fuse_actuator.gates import (
    ADMISSION,
    GATES,
    REFUSED,
    SIGNALS,
    Case,
    Gate,
    Refusal,
    counters,
    first_refusal,
)
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook
from sparkfuse_native_analytics.fuse_controller.keys import ACT, KeyRing
from sparkfuse_native_analytics.fuse_controller.outcomes import ACTUATOR
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, verify
from sparkfuse_rules.rule import EXTERNAL_STOP

POLL_MS = 1_000
_log = logging.getLogger("sparkfuse.fuse_actuator")


@dataclass(frozen=True)
class SignalRecord:
    """A record of the topic ``signals``. ``appended_ms`` is None if the broker did not set its time."""

    content: bytes
    appended_ms: int | None


class ActuatorEdge(Protocol):
    """Kafka and the clock as the actuator uses them."""

    def clock_ms(self) -> int:
        """Return a monotonic time in ms."""

    def wall_ms(self) -> int:
        """Return the wall clock in ms since the epoch; no decision depends on it."""

    def wait(self, milliseconds: int) -> None:
        """Wait for the given time; return earlier if the process must end."""

    def write(self, receipt: Receipt) -> int | None:
        """Write a receipt; return the time at which the broker appended it, None if the broker did not confirm it."""

    def controls(self) -> ControlBook | None:
        """Return all controls up to the end of their topic; None if they cannot be read."""

    def announcement(self, signal: Signal) -> AuditRecord | None:
        """Return the audit record with the generation of a signal; None if there is none or it cannot be read."""

    def row(self, signal: Signal) -> LiveRow | None:
        """Return the latest row of the signal's application; None if there is none or it cannot be read."""

    def settings(self, signal: Signal) -> Mapping[str, str]:
        """Return the Spark settings that the application sent at its start; empty if they cannot be read."""

    def count(self, signal: Signal, outcome: str, gate: str) -> None:
        """Count a signal by its outcome and by the gate that refused it."""

    def count_unverified(self) -> None:
        """Count a record that no trusted key signed."""


class Actuator:
    """Ends applications of one cluster; not safe to share between threads."""

    def __init__(
        self,
        settings: ActuatorSettings,
        policies: Mapping[str, ExternalPolicy],
        keys: KeyRing,
        manager: ClusterManager,
        edge: ActuatorEdge,
        gates: Mapping[str, Gate] = GATES,
    ) -> None:
        """Create an actuator with the memory of an earlier process. Raises MemoryUnusableError."""
        self._settings, self._policies, self._keys = settings, policies, keys
        self._manager, self._edge, self._gates = manager, edge, gates
        self._memory = read_memory(settings.state_file)

    def receive(self, record: SignalRecord) -> None:
        """Handle one record; a record that is not for this actuator is ignored."""
        found = self._verified(record)
        if found is None or found[1].action != EXTERNAL_STOP or found[1].cluster != self._settings.cluster:
            return
        signed, signal = found
        try:
            self._handle(record, signed, signal)
        except MemoryUnusableError as error:
            # Without its stored memory the actuator could act twice, so it does nothing and says so in the receipt.
            self._report(signal, "failed", str(error))

    def _verified(self, record: SignalRecord) -> tuple[SignedMessage, Signal] | None:
        try:
            signed = from_json(SignedMessage, record.content)
            if signed.purpose != ACT:
                return None
            return signed, verify(signed, Signal, SIGNALS, ACT, self._keys, record.appended_ms or 0)
        except (RecordError, SignatureRefusedError) as error:
            self._edge.count_unverified()
            _log.warning("a signal is ignored: %s", error)
            return None

    def _handle(self, record: SignalRecord, signed: SignedMessage, signal: Signal) -> None:
        time = self._acknowledged(signal, "received", "it will be verified")
        if time is None:
            return
        before = self._memory
        application = Application(signal.app_id, signal.app_attempt, signal.app_start_ms, self._edge.settings(signal))
        case = self._case(record, signed, signal, before, application, time)
        refused = first_refusal(case, self._gates)
        admitted = refused is None or refused[0] not in ADMISSION
        # A refused signal is never carried out later, so it uses up its generation too, unless it may be forged.
        if refused is None or refused[0] not in ("signature", "epoch", "announced"):
            self._memory = before.admit(signal.app_id, signal.epoch, signal.generation, case.now_ms)
            write_memory(self._settings.state_file, self._memory)
        if signal.probe and admitted:
            self._answer(case, "would_not_act" if refused else "would_act", refused)
        elif refused is not None:
            self._answer(case, refused[1].outcome, refused)
        else:
            self._stop(case, record, application)

    def _acknowledged(self, signal: Signal, outcome: str, reason: str) -> tuple[int, int] | None:
        """Write a receipt; return the broker's time and this process's clock at that moment, None if not confirmed."""
        broker_ms = self._report(signal, outcome, reason)
        return None if broker_ms is None else (broker_ms, self._edge.clock_ms())

    def _case(
        self,
        record: SignalRecord,
        signed: SignedMessage,
        signal: Signal,
        memory: Memory,
        application: Application,
        time: tuple[int, int],
    ) -> Case:
        row, announcement = self._edge.row(signal), self._edge.announcement(signal)
        began_ms = self._edge.clock_ms()
        controls = self._edge.controls()
        found = look(self._manager, application)
        clock_ms = self._edge.clock_ms()
        return Case(
            settings=self._settings,
            keys=self._keys,
            signed=signed,
            signal=signal,
            appended_ms=record.appended_ms,
            now_ms=time[0] + clock_ms - time[1],
            memory=memory,
            policy=self._policies.get(signal.policy_hash),
            controls=controls,
            announced=announcement,
            found=found,
            row=row,
            pause_ms=clock_ms - began_ms,
        )

    def _stop(self, first: Case, record: SignalRecord, application: Application) -> None:
        signal, found = first.signal, first.found
        self._spend(first)
        time = self._acknowledged(signal, "requested", "all gates have passed")
        if time is None:
            self._report(signal, "failed", "the broker did not confirm the request")
            return
        # A hold may have begun, or the application may have ended or shown life, while the request was written.
        case = self._case(record, first.signed, signal, first.memory, application, time)
        refused = first_refusal(case, self._gates)
        if refused is None and _instance(case.found) != _instance(found):
            refused = ("manager", Refusal(REFUSED, "the cluster manager runs another instance than a moment ago"))
        if refused is not None:
            self._answer(case, refused[1].outcome, refused)
            return
        self._end(case, application)

    def _spend(self, case: Case) -> None:
        """Write the stop and its approval to disk, before the stop is requested from the cluster manager."""
        signal = case.signal
        stop = Stop(case.now_ms, signal.app_id, signal.job_key)
        self._memory = self._memory.spend(stop, _approval_id(signal))
        write_memory(self._settings.state_file, self._memory)

    def _end(self, case: Case, application: Application) -> None:
        instance = _instance(case.found)
        try:
            with documented_answers():
                self._manager.stop(application, instance)
        except ManagerError as error:
            # The cluster manager may have received the request although no answer arrived.
            found = look(self._manager, application)
            outcome = "ended" if isinstance(found, Ended) else "failed"
            self._answer(case, outcome, None, found.reason if isinstance(found, Ended) else str(error))
            return
        until_ms = self._edge.clock_ms() + self._settings.wait_ms
        while not isinstance(found := look(self._manager, application), Ended) and self._edge.clock_ms() < until_ms:
            self._edge.wait(POLL_MS)
        if isinstance(found, Ended):
            self._answer(case, "ended", None, f"the cluster manager reports the end: {found.reason}")
        else:
            seconds = self._settings.wait_ms // 1000
            self._answer(case, "unfreed", None, f"{seconds} s after the request it has not ended: {_text(found)}")

    def _answer(self, case: Case, outcome: str, refused: tuple[str, Refusal] | None, reason: str = "") -> None:
        observed = {name: f"{value:g}" for name, value in counters(case).items()}
        if isinstance(case.found, Running):
            observed |= {"instance": case.found.instance, "started_ms": str(case.found.started_ms)}
        gate, why = (refused[0], refused[1].reason) if refused else ("", reason or "all gates have passed")
        self._report(case.signal, outcome, why, gate, observed)

    def _report(
        self, signal: Signal, outcome: str, reason: str, gate: str = "", observed: Mapping[str, str] | None = None
    ) -> int | None:
        _log.info("%s %s of %s: %s %s", outcome, signal.signal_id, signal.app_id, gate, reason)
        self._edge.count(signal, outcome, gate)
        receipt = Receipt(
            receipt_id=uuid.uuid4().hex,
            signal_id=signal.signal_id,
            cluster=signal.cluster,
            app_id=signal.app_id,
            app_attempt=signal.app_attempt,
            app_start_ms=signal.app_start_ms,
            rule=signal.rule,
            action=signal.action,
            mode=self._settings.mode,
            outcome=outcome,
            reason=reason,
            at_ms=self._edge.wall_ms(),
            observed=observed or {},
            finding_id=signal.finding_id,
            actor=ACTUATOR,
        )
        if gate:
            receipt.gate = gate
        return self._edge.write(receipt)


def _approval_id(signal: Signal) -> str:
    try:
        return from_json(Approval, signal.approval.payload.encode()).approval_id
    except RecordError:
        return ""  # the policy required no approval, so the gate did not read the approval


def _instance(found: Found) -> str:
    return found.instance if isinstance(found, Running) else ""


def _text(found: Found) -> str:
    return f"{found.instance} runs" if isinstance(found, Running) else found.reason
