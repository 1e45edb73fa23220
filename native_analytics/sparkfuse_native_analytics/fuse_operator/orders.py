"""Orders of operators: holds, armings, revocations and approvals, signed with a key for the purpose ``approve``."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.controls import ARM, HOLD, REVOKE_KEY
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE
from sparkfuse_native_analytics.fuse_controller.signing import sign
from sparkfuse_native_analytics.topic_records import append

STOP_EVERYTHING = "stop-everything"
APPROVAL_LIFE_MS = 15 * 60_000


@dataclass(frozen=True)
class Operator:
    """The person who gives orders: the person's name for the audit log, and the key that signs the orders."""

    name: str
    key: EllipticCurvePrivateKey


@dataclass(frozen=True)
class Selection:
    """The targets of a hold or an arming, as patterns with ``*`` and ``?``; an empty pattern matches everything."""

    cluster: str = ""
    rule: str = ""
    job: str = ""
    app: str = ""

    def apply_to(self, control: Control) -> Control:
        """Set the patterns that are not empty in a control, and return the control."""
        for name, text in vars(self).items():
            if text:
                setattr(control, name, text)
        return control


def hold(selection: Selection, reason: str, until_ms: int, control_id: str = "") -> Control:
    """Return a control of kind hold: until ``until_ms``, nothing that the selection matches is stopped."""
    control_id = control_id or f"hold-{uuid.uuid4().hex[:8]}"
    return selection.apply_to(Control(control_id=control_id, kind=HOLD, reason=reason, until_ms=until_ms))


def stop_everything(reason: str, until_ms: int) -> Control:
    """Return a hold of everything. Its id is new, so no earlier control, whatever its time, replaces it."""
    return hold(Selection(), reason, until_ms, f"{STOP_EVERYTHING}-{uuid.uuid4().hex[:8]}")


def arm(
    selection: Selection,
    action: str,
    reason: str,
    until_ms: int,
    replay: str = "",
    runs: Mapping[str, int] | None = None,
) -> Control:
    """Return an arming: until ``until_ms``, it allows ``action`` on targets that the selection matches.

    ``replay`` is the result of the replay of stored rows, or why there was none; empty if none was asked for. ``runs``
    is the number of healthy runs that the replay has just counted, by the hash of the policy.
    """
    control_id = f"arm-{uuid.uuid4().hex[:8]}"
    control = Control(control_id=control_id, kind=ARM, action=action, reason=reason, until_ms=until_ms, replay=replay)
    if runs:
        control.replayed_runs.update({policy: str(count) for policy, count in runs.items()})
        control.replayed_ms = _now_ms()
    return selection.apply_to(control)


def release(control: Control, reason: str) -> Control:
    """Return the control that ends a hold or an arming."""
    ended = Control()
    ended.CopyFrom(control)
    ended.released, ended.reason = True, reason
    return ended


def revoke(key_id: str, reason: str) -> Control:
    """Return the permanent revocation of a key; another key must sign it."""
    return Control(control_id=f"revoke-{key_id}", kind=REVOKE_KEY, key_id=key_id, reason=reason)


def give(settings: Settings, operator: Operator, control: Control) -> Control:
    """Set actor and time of a control, sign it and append it to its topic; return the control. Raises TopicError.

    Of two controls with one id, the later one is in force. So the time of a release is later than that of the control
    that it ends, even if the clock of the computer that gave that control was ahead.
    """
    given = Control()
    given.CopyFrom(control)
    given.actor, given.issued_ms = operator.name, max(_now_ms(), control.issued_ms + 1)
    signed = sign(given, "controls", APPROVE, operator.key)
    append(settings, "controls", given.control_id, to_json(signed))
    return given


def approve(settings: Settings, operator: Operator, digest: str) -> Approval:
    """Sign an approval of one target and append it to its topic; return the approval. Raises TopicError."""
    now_ms = _now_ms()
    approval = Approval(
        approval_id=f"approval-{uuid.uuid4().hex[:12]}",
        digest=digest,
        approver=operator.name,
        issued_ms=now_ms,
        expires_ms=now_ms + APPROVAL_LIFE_MS,
    )
    append(settings, "approvals", digest, to_json(sign(approval, "approvals", APPROVE, operator.key)))
    return approval


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
