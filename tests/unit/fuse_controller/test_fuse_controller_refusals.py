"""Tests what the controller does after the hook refused a signal: it asks again, and acts only on a newer agreement."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_native_analytics.fuse_controller.safeguards import Budget
from sparkfuse_native_analytics.fuse_operator.state import AuditLogView
from tests.unit.fuse_controller.scene import NOW_MS, answer, finding, live_row

SECOND_MS = 1_000


@pytest.fixture
def step(world, show):
    """Return a function that lets detection confirm the runaway stage at a second, and evaluates once."""

    def at(controller, second: int, row_second: int | None = None):
        world.time_ms = NOW_MS + second * SECOND_MS
        row_ms = NOW_MS + (second if row_second is None else row_second) * SECOND_MS
        show(controller, live_row(now_ms=row_ms, seq=second + 1), finding(now_ms=world.time_ms))
        controller.evaluate(world)

    return at


@pytest.fixture
def refused(world, make_controller, step):
    """Return a controller whose first signal the hook refused after one second, because it saw less spill."""

    def build(outcome="disagrees", **safeguards):
        controller = make_controller("act", **safeguards)
        step(controller, 0)
        controller.read_receipt(answer(world.acts[0], outcome, gate="predicate"))
        step(controller, 1)
        return controller

    return build


@pytest.mark.parametrize("outcome", ["disagrees", "refused", "held", "blind", "expired", "failed"])
def test_refused_act_is_asked_again_after_a_back_off(world, refused, step, outcome):
    """After a refusal the controller sends a probe as soon as the back-off of 10 s is over, not a second signal."""
    controller = refused(outcome)
    for second in (2, 10, 11):
        step(controller, second)

    assert world.steps == ["sent", "verified", "rechecked"]
    assert [(probe.action, probe.stage_id) for probe in world.probes] == [("cancel_stage", 3)]
    assert world.probes[0].generation > world.acts[0].generation


def test_agreement_of_the_hook_causes_the_next_act(world, refused, step):
    """When the hook answers that it would act, the next evaluation with a newer row sends a new signal."""
    controller = refused()
    step(controller, 11)
    controller.read_receipt(answer(world.probes[0], "would_act"))
    step(controller, 12)

    assert world.steps == ["sent", "verified", "rechecked", "sent"]
    assert len({signal.signal_id for signal in world.acts}) == 2
    assert world.acts[1].generation > world.acts[0].generation


def test_hook_that_still_refuses_is_asked_less_and_less_often(world, refused, step):
    """While the hook answers that it would not act, the questions back off to the cool-down, and no act is sent."""
    controller = refused()
    asked = []
    for second in (10, 11, 30, 31, 70, 71, 150, 151, 270, 271, 390, 391):
        before = len(world.probes)
        step(controller, second)
        if len(world.probes) > before:
            asked.append(second)
            controller.read_receipt(answer(world.probes[-1], "would_not_act", gate="predicate"))

    assert asked == [11, 31, 71, 151, 271, 391]
    assert len(world.acts) == 1


def test_questions_spend_no_budget(world, refused, step):
    """Refusals and questions leave the budget for the act on which hook and controller agree."""
    controller = refused(budget=Budget(job_per_hour=2))
    for second in (11, 31, 71, 151, 271):
        step(controller, second)
        controller.read_receipt(answer(world.probes[-1], "would_not_act", gate="predicate"))
    step(controller, 391)
    controller.read_receipt(answer(world.probes[-1], "would_act"))
    step(controller, 392)

    assert world.steps == ["sent", "verified", *["rechecked"] * 6, "sent"]


def test_refused_signals_still_count_towards_the_budget(world, refused, step):
    """A receipt never gives a budget back: each signal that was sent counts, whatever the receipts claim."""
    controller = refused(budget=Budget(job_per_hour=1))
    for second in (11, 121, 200):
        step(controller, second)

    assert len(world.acts) == 1
    assert world.steps == ["sent", "verified", "over_budget"]


def test_question_needs_a_newer_row(world, refused, step):
    """Without a row that is newer than the evidence of the refused signal, the controller asks nothing."""
    controller = refused()
    for second in (11, 15, 19):
        step(controller, second, row_second=0)
    asked_with_old_row = len(world.probes)
    step(controller, 20)

    assert (asked_with_old_row, len(world.probes)) == (0, 1)


def test_old_agreement_is_asked_for_again(world, refused, step):
    """An answer older than a minute causes no act, because the state of the job may have changed."""
    controller = refused()
    step(controller, 11)
    controller.read_receipt(answer(world.probes[0], "would_act"))
    step(controller, 80)

    assert world.steps == ["sent", "verified", "rechecked", "rechecked"]


def test_restart_remembers_the_refusal(world, refused, make_controller, step):
    """A restarted controller asks the hook after the same back-off and sends no second signal."""
    refused()
    restarted = make_controller("act")
    for second in (2, 10, 11):
        step(restarted, second)

    assert world.steps == ["sent", "verified", "rechecked"]


def test_refused_approved_act_requests_a_new_approval(world, approval_needed, step):
    """An approval is valid once, so after a refusal the next act requests another approval of the same target."""
    controller = approval_needed
    step(controller, 0)
    approval = Approval(approval_id="approval-1", digest=world.records[0].digest, approver="dana", issued_ms=NOW_MS,
                        expires_ms=NOW_MS + 600_000)  # fmt: skip
    assert controller.approvals.put(world.keys.approval(approval), NOW_MS) is None
    step(controller, 1)
    controller.read_receipt(answer(world.acts[0], "disagrees", gate="predicate"))
    step(controller, 2)
    step(controller, 12)
    controller.read_receipt(answer(world.probes[0], "would_act"))
    step(controller, 13)
    pending = AuditLogView(world.records, ()).pending_approvals(world.time_ms)

    assert world.steps == ["approval_requested", "sent", "verified", "rechecked", "approval_requested"]
    assert [record.at_ms for record in pending] == [world.time_ms]
