"""The controller's audit log: the chain of records, and the state that a restart rebuilds from these records."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller.act_registry import ActRegistry
from sparkfuse_native_analytics.fuse_controller.approvals import ApprovalBook
from sparkfuse_native_analytics.fuse_controller.audit_chain import ChainTip
from sparkfuse_native_analytics.fuse_controller.environment import Environment, FencedError
from sparkfuse_native_analytics.fuse_controller.keys import ACT
from sparkfuse_native_analytics.fuse_controller.probes import ProbeBook, ProbeRecords
from sparkfuse_native_analytics.fuse_controller.signing import sign

SIGNALS = "signals"
# Larger sequence numbers and epochs would leave no valid number for the next record.
MAX_NUMBER = 2**62
_log = logging.getLogger("sparkfuse.fuse_controller")


class AuditLog:
    """The chain of audit records. A signal and the record that announces it are written together or not at all."""

    def __init__(self, approvals: ApprovalBook, key: EllipticCurvePrivateKey | None) -> None:
        """Create an empty log. ``key`` signs signals; without a key no signal can be written."""
        self.acts = ActRegistry()
        self.probes = ProbeBook()
        self.probe_records = ProbeRecords()
        self.epoch = 0
        self._orders: set[tuple[str, str]] = set()
        self._approvals = approvals
        self._key = key
        self._tip = ChainTip()

    @property
    def can_sign(self) -> bool:
        """Whether signals can be written."""
        return self._key is not None

    def next_generation(self) -> int:
        """Return the generation of the next signal: the sequence number of the record that announces it."""
        return self._tip.next_sequence()

    def read(self, content: bytes, record: AuditRecord, appended_ms: int | None) -> str | None:
        """Add a record that this or an earlier controller wrote, with the broker's time of the record if it is known.

        Returns why the record is rejected, else None. Raises FencedError if a later controller wrote the record.
        """
        if not (0 < record.sequence < MAX_NUMBER and 0 < record.epoch < MAX_NUMBER):
            return (
                f"the sequence {record.sequence} or the epoch {record.epoch} is not a number that a controller writes"
            )
        if self.epoch and record.epoch > self.epoch:
            raise FencedError(f"a fuse controller of epoch {record.epoch} has taken over from epoch {self.epoch}")
        if record.sequence > self._tip.sequence:
            self._tip = self._tip.after(content, record)
            self._remember(record, appended_ms)
        return None

    def start(self, environment: Environment, first: AuditRecord) -> None:
        """Begin a new epoch after the whole log was read. Raises OSError or FencedError."""
        self.epoch = self._tip.epoch + 1
        self.write(environment, [first])

    def write(self, environment: Environment, records: Sequence[AuditRecord], signal: Signal | None = None) -> None:
        """Write records, and the signal that the last one announces, in one transaction.

        Raises OSError if nothing was written, or FencedError.
        """
        if not records:
            return
        tip, contents = self._tip, []
        for record in records:
            content, tip = tip.append(record, self.epoch)
            contents.append((record.app_id, content))
        signals = []
        if signal is not None:
            assert self._key is not None, "a signal is made only if there is a key"
            assert signal.generation == tip.sequence, "the generation is the sequence number of the announcement"
            signals.append((signal, sign(signal, SIGNALS, ACT, self._key)))
        appended_ms = environment.write(contents, signals)
        self._tip = tip
        for record in records:
            self._remember(record, appended_ms)
            _log.info("%s %s %s %s: %s", record.step, record.app_id, record.rule, record.gate, record.reason)

    def knows_order(self, control: Control) -> bool:
        """Return whether the audit log has a record of this version of a person's order."""
        return (control.control_id, str(control.issued_ms)) in self._orders

    def _remember(self, record: AuditRecord, appended_ms: int | None) -> None:
        if record.control_id:
            self._orders.add((record.control_id, record.observed["issued_ms"]))
        self.acts.record(record, appended_ms)
        self.probes.record(record)
        self.probe_records.record(record)
        self._approvals.record(record)
