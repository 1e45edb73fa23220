"""The orders of operators, from the topic ``controls``: holds, armings and revoked keys.

The hook reads the same topic before each act and follows the same rules (contracts/shared/control_rules.yaml). While a
record cannot be verified, nothing is stopped, because the record may have replaced a hold. Keys must be valid at the
time at which the broker appended the record, so that old controls stay valid after a rotation of keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.control_rules import KINDS, TOPIC
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, TrustedKey
from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, verify

HOLD, ARM, REVOKE_KEY = KINDS


@dataclass(frozen=True)
class Subject:
    """The target of a possible act, with the properties by which controls select targets."""

    cluster: str
    rule: str
    job_key: str
    app_id: str


class ControlBook:
    """The latest control of each id. Not safe to share between threads."""

    def __init__(self, keys: Mapping[str, TrustedKey]) -> None:
        """Create an empty book. Among the trusted ``keys``, only those with the purpose approve can sign a control."""
        self._trusted = keys
        self._controls: dict[str, tuple[Control, str]] = {}
        self._unverified: dict[str, str] = {}
        self._revoked: dict[str, Control] = {}

    @property
    def revoked_keys(self) -> frozenset[str]:
        """Ids of keys that an operator revoked."""
        return frozenset(self._revoked)

    def put(self, key: str, content: bytes | None, appended_ms: int | None) -> str | None:
        """Add one record that the broker appended at ``appended_ms``; return the reason if it is rejected, else None.

        ``appended_ms`` is None if the writer chose the time; a record with an expired key could then seem valid.
        A record without content is ignored: releases are signed, so deleting a record must not end a hold.
        """
        if content is None:
            return None
        try:
            signed = from_json(SignedMessage, content)
            control = verify(signed, Control, TOPIC, APPROVE, self._trusted, appended_ms, self.revoked_keys)
            _check(control, key)
        except (RecordError, SignatureRefusedError) as error:
            self._unverified[key] = str(error)
            return str(error)
        self._unverified.pop(key, None)
        if control.kind == REVOKE_KEY:
            if control.key_id != signed.key_id:  # otherwise the thief of a key could revoke it
                self._revoked[control.key_id] = control
            return None
        known = self._controls.get(key)
        if known is None or control.issued_ms >= known[0].issued_ms:
            self._controls[key] = (control, signed.key_id)
        return None

    def hold(self, subject: Subject, now_ms: int) -> tuple[str, str] | None:
        """Return id and reason of an unverified control, or of the first hold that covers ``subject``; else None."""
        if self._unverified:
            key, reason = next(iter(self._unverified.items()))
            return key, f"the control {key!r} cannot be verified: {reason}"
        for key, control in self._in_force(HOLD, now_ms):
            if _covers(control, subject):
                return key, f"held by {control.actor or 'an operator'}: {control.reason}"
        return None

    def arming(self, subject: Subject, action: str, now_ms: int) -> Control | None:
        """Return an arming that allows ``action`` for ``subject``; None if there is none."""
        return next(iter(self.armings(subject, action, now_ms)), None)

    def armings(self, subject: Subject, action: str, now_ms: int) -> list[Control]:
        """Return all armings that allow ``action`` for ``subject``.

        An arming allows nothing if it has no end, or if the key that signed it was revoked later.
        """
        armings = (control for _, control in self._in_force(ARM, now_ms) if control.HasField("until_ms"))
        return [each for each in armings if each.action == action and _covers(each, subject)]

    def in_force(self, now_ms: int) -> list[Control]:
        """Return the holds and armings that are in force, and the revocations."""
        controls = [control for kind in (HOLD, ARM) for _, control in self._in_force(kind, now_ms)]
        return controls + list(self._revoked.values())

    def orders(self) -> list[Control]:
        """Return the latest hold or arming of each id, including those that have expired or were released."""
        return [control for control, _ in self._controls.values()]

    def unverified(self) -> Mapping[str, str]:
        """Return the reason for each record that could not be verified, by the record's key."""
        return dict(self._unverified)

    def _in_force(self, kind: str, now_ms: int) -> Iterator[tuple[str, Control]]:
        for key, (control, signer) in self._controls.items():
            expired = control.HasField("until_ms") and now_ms >= control.until_ms
            distrusted = kind == ARM and signer in self._revoked
            if control.kind == kind and not control.released and not expired and not distrusted:
                yield key, control


def _check(control: Control, key: str) -> None:
    if control.control_id != key:
        raise SignatureRefusedError(f"the record with the key {key!r} contains the control {control.control_id!r}")
    if control.kind not in KINDS:
        raise SignatureRefusedError(f"the kind of control {control.kind!r} is unknown")


def _covers(control: Control, subject: Subject) -> bool:
    pairs = (
        (control.cluster, subject.cluster),
        (control.rule, subject.rule),
        (control.job, subject.job_key),
        (control.app, subject.app_id),
    )
    return all(not pattern or matches(pattern, value) for pattern, value in pairs)
