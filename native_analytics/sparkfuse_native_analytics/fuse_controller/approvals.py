"""Approvals by people, from the topic ``approvals``. Each approval allows one signal and is valid once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, TrustedKey
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, verify

TOPIC = "approvals"
REQUESTED = "approval_requested"
# People see a request for this long; then it is made again, if the finding still fires.
REQUEST_LIFE_MS = 3_600_000


class ApprovalBook:
    """The approvals that people gave, those that were used, and those that were requested."""

    def __init__(self, keys: Mapping[str, TrustedKey], revoked: Callable[[], frozenset[str]]) -> None:
        """``revoked`` returns the ids of revoked keys."""
        self._trusted, self._revoked = keys, revoked
        self._approvals: dict[str, tuple[Approval, SignedMessage]] = {}
        self._used: set[str] = set()
        self._requested: dict[str, int] = {}

    def put(self, content: bytes | None, appended_ms: int | None) -> str | None:
        """Add one record that the broker appended at ``appended_ms``; return why it was rejected, else None.

        ``appended_ms`` is None if the writer chose the time.
        """
        try:
            signed = from_json(SignedMessage, content or b"")
            approval = verify(signed, Approval, TOPIC, APPROVE, self._trusted, appended_ms, self._revoked())
        except (RecordError, SignatureRefusedError) as error:
            return str(error)
        self._approvals[approval.digest] = (approval, signed)
        return None

    def record(self, record: AuditRecord) -> None:
        """Add a record of the audit log: it may report that an approval was used or requested."""
        if record.approval_id:
            self._used.add(record.approval_id)
            # If the hook refuses the approved act, the next act needs a new approval, which must be requested again.
            self._requested.pop(record.digest, None)
        if record.step == REQUESTED:
            self._requested[record.digest] = record.at_ms

    def is_requested(self, digest: str, now_ms: int) -> bool:
        """Return whether an approval of this target was requested so recently that a person still sees the request."""
        at_ms = self._requested.get(digest)
        return at_ms is not None and now_ms - at_ms < REQUEST_LIFE_MS

    def find(self, digest: str, now_ms: int) -> tuple[Approval, SignedMessage] | None:
        """Return an approval of a target if it is unused and valid now; None if there is none."""
        found = self._approvals.get(digest)
        if found is None:
            return None
        approval, signed = found
        usable = now_ms < approval.expires_ms and approval.approval_id and approval.approval_id not in self._used
        return found if usable and signed.key_id not in self._revoked() else None
