"""Tests that an act which needs an approval waits for one, and uses it once."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_native_analytics.fuse_controller.keys import key_id
from sparkfuse_native_analytics.fuse_controller.signing import target_digest
from tests.unit.fuse_controller.scene import (
    MINUTE_MS,
    NOW_MS,
    finding,
    live_row,
)

RUNAWAY = (live_row(), finding())


def approve(world, controller, signal, **fields):
    approval = Approval(**{"approval_id": "approval-1", "digest": target_digest(signal), "approver": "dana",
                           "issued_ms": NOW_MS, "expires_ms": NOW_MS + 600_000, **fields})  # fmt: skip
    return controller.approvals.put(world.keys.approval(approval), NOW_MS)


def test_act_waits_for_one_approval_and_uses_it_once(world, approval_needed, show):
    """Without an approval the controller requests one.

    The signal contains the approval, and the approval is not used a second time.
    """
    controller = approval_needed
    show(controller, live_row(), finding())
    controller.evaluate(world)
    controller.evaluate(world)
    assert world.steps == ["approval_requested"]
    assert world.acts == []

    requested = world.records[0]
    assert approve(world, controller, _signal_of(world, controller)) is None
    assert controller.approvals.find(requested.digest, NOW_MS) is not None
    controller.evaluate(world)
    assert world.steps == ["approval_requested", "sent"]
    assert world.acts[0].HasField("approval")
    assert world.records[1].approval_id == "approval-1"
    assert controller.approvals.find(requested.digest, NOW_MS) is None


@pytest.mark.parametrize("fields", [{"expires_ms": NOW_MS}, {"digest": "0" * 64}], ids=["expired", "another target"])
def test_wrong_approval_is_not_used(world, approval_needed, show, fields):
    """An approval that expired or names another target allows nothing."""
    show(approval_needed, live_row(), finding())
    approval_needed.evaluate(world)
    approve(world, approval_needed, _signal_of(world, approval_needed), **fields)
    approval_needed.evaluate(world)

    assert world.acts == []


def _signal_of(world, controller):
    """Return the signal for which the controller has requested an approval."""
    from sparkfuse_contracts.generated.signal_pb2 import Signal

    request = next(record for record in world.records if record.step == "approval_requested")
    signal = Signal(cluster=request.cluster, app_id=request.app_id, app_attempt=request.app_attempt,
                    app_start_ms=request.app_start_ms, rule=request.rule, action=request.action,
                    stage_id=request.stage_id, stage_attempt=request.stage_attempt,
                    policy_hash=request.policy_hash)  # fmt: skip
    assert target_digest(signal) == request.digest
    return signal


def test_approval_of_a_revoked_key_is_not_used(world, approval_needed, show):
    """If the key that signed an approval is revoked afterwards, the approval allows nothing."""
    show(approval_needed, *RUNAWAY)
    approval_needed.evaluate(world)
    assert approve(world, approval_needed, _signal_of(world, approval_needed)) is None
    revoked = key_id(world.keys.private["approve"].public_key())
    approval_needed.controls._revoked[revoked] = Control(control_id="revoke", kind="revoke_key", key_id=revoked)
    approval_needed.evaluate(world)

    assert world.acts == []


def test_request_for_an_approval_is_repeated_after_an_hour(world, approval_needed, show):
    """People see a request for an hour; if nobody answers and the finding still fires, it is made again."""
    for minutes in (0, 30, 61):
        world.time_ms = NOW_MS + minutes * MINUTE_MS
        show(approval_needed, live_row(now_ms=world.time_ms, seq=minutes + 1), finding(now_ms=world.time_ms))
        approval_needed.evaluate(world)

    assert world.steps == ["approval_requested"] * 2
