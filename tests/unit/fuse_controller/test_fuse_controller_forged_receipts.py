"""Tests that forged receipts change nothing that matters: any job can write the topic of receipts."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.ladder import next_action
from sparkfuse_native_analytics.fuse_controller.outcomes import OutcomeBook
from sparkfuse_native_analytics.fuse_controller.safeguards import Arming, Budget
from sparkfuse_native_analytics.fuse_controller.scope import Run
from tests.unit.fuse_controller.scene import (
    NOW_MS,
    answer,
    application_row,
    finding,
    healthy_row,
    live_row,
)

OUTCOMES = ("received", "would_act", "would_not_act", "warned", "held", "refused", "expired", "disagrees", "blind",
            "requested", "ended", "unfreed", "failed")  # fmt: skip
NARROW, WIDE = "cancel_stage", "stop_application"


def outcomes(world):
    return [record.outcome for record in world.records if record.step == "verified"]


def later(world, controller, show, seconds, **columns):
    world.time_ms = NOW_MS + seconds * 1_000
    show(controller, live_row(now_ms=world.time_ms, seq=seconds + 1, **columns), finding(now_ms=world.time_ms))
    controller.evaluate(world)


def test_forged_receipts_cause_no_act(world, make_controller, show):
    """Receipts alone cause no signal, for signals that exist, for those that do not, and without a finding."""
    controller = make_controller("act")
    show(controller, healthy_row("app-1"))
    controller.probe(world)
    for outcome in OUTCOMES:
        for signal_id in ("", "s-1", world.probes[0].signal_id):
            controller.read_receipt(
                Receipt(signal_id=signal_id, cluster="prod", app_id="app-1", outcome=outcome, at_ms=2**62)
            )
    controller.evaluate(world)

    assert world.acts == []


def test_forged_agreement_needs_all_gates(world, make_controller, show):
    """A forged answer that the hook would act causes no signal if the rule no longer matches."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    controller.read_receipt(answer(world.acts[0], "disagrees"))
    later(world, controller, show, 1)
    later(world, controller, show, 11)
    controller.read_receipt(answer(world.probes[0], "would_act"))
    later(world, controller, show, 12, running_since_progress_min_ms=5)

    assert len(world.acts) == 1


def test_second_different_answer_is_no_agreement(world, make_controller, show):
    """If two receipts answer the same question differently, one is forged, and nothing is sent."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    controller.read_receipt(answer(world.acts[0], "disagrees"))
    later(world, controller, show, 1)
    later(world, controller, show, 11)
    controller.read_receipt(answer(world.probes[0], "would_not_act", gate="predicate"))
    controller.read_receipt(answer(world.probes[0], "would_act"))
    later(world, controller, show, 12)

    assert len(world.acts) == 1


@pytest.mark.parametrize("claims", [OUTCOMES, ("disagrees",), ("ended",), ("failed",)], ids=lambda claims: claims[-1])
def test_forged_receipts_free_no_budget(world, make_controller, show, claims):
    """No receipt gives a spent budget back."""
    controller = make_controller("act", budget=Budget(job_per_hour=1))
    show(controller, live_row(), finding())
    controller.evaluate(world)
    for outcome in claims:
        controller.read_receipt(answer(world.acts[0], outcome))
    for seconds in (1, 11, 121, 130):
        later(world, controller, show, seconds)

    assert len(world.acts) == 1


def test_forged_refusal_does_not_shorten_the_time_of_an_act(world, make_controller, show):
    """If the hook has announced the act, a forged refusal lets the controller wait for the whole cool-down."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    controller.read_receipt(answer(world.acts[0], "disagrees"))
    later(world, controller, show, 1)
    controller.read_receipt(answer(world.acts[0], "requested"))
    for seconds in (2, 11, 60, 119):
        later(world, controller, show, seconds)
    signals_before = len(world.signals)
    later(world, controller, show, 121)

    assert (signals_before, len(world.signals)) == (1, 2)


@pytest.mark.parametrize(("real", "forged"), list(permutations(("would_act", "would_not_act"), 2)))
def test_forged_answer_neither_disarms_nor_arms(world, make_controller, show, real, forged):
    """Two different answers to a probe count neither as a healthy run nor as a false probe."""
    controller = make_controller("act", arming=Arming(0))
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    for outcome in (real, forged):
        gate = "predicate" if outcome == "would_not_act" else ""
        controller.read_receipt(answer(world.probes[-1], outcome, gate=gate))
    show(controller, healthy_row("healthy-1", seq=50, status="succeeded"),
         application_row("healthy-1", "succeeded", seq=51))  # fmt: skip
    controller.evaluate(world)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert [record.outcome for record in world.records if record.step == "probe_scored"] == ["contested"]
    assert [signal.app_id for signal in world.acts] == ["app-1"]
    assert controller.audit.probe_records.of(world.acts[0].rule, world.acts[0].policy_hash).healthy_runs == set()


@pytest.mark.parametrize("forged", [outcome for outcome in OUTCOMES if outcome != "unfreed"])
def test_forged_receipt_does_not_hide_unfreed_work(forged):
    """If the hook reports work that still runs, the outcome is `unfreed`, whatever arrives before or after it."""
    act = Act("s-1", 0, "act", NARROW, Run("prod", "app-1", 0, 5), "task_failures", "", "", "")
    for order in (("unfreed", forged), (forged, "unfreed")):
        book, verified = OutcomeBook(), act
        for outcome in order:
            book.hint(Receipt(signal_id="s-1", app_id="app-1", outcome=outcome))
            found = book.changed(verified) if verified.outcome else book.of(verified, 1, Times())
            if found:
                verified = replace(verified, outcome=found.outcome, contested=found.contested)

        assert verified.outcome == "unfreed"


def test_late_report_of_unfreed_work_is_recorded(world, make_controller, show):
    """A forged refusal that arrives first does not keep the hook's report of unfreed work out of the audit log."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    for number, outcome in enumerate(("disagrees", "requested", "unfreed")):
        controller.read_receipt(answer(world.acts[0], outcome))
        later(world, controller, show, number + 1)

    assert outcomes(world) == ["refused", "refused", "unfreed"]


@pytest.mark.parametrize("real", ["held", "refused", "disagrees", "blind", "warned", "ended"])
def test_forged_unfreed_widens_no_action(real):
    """If the hook answered anything else than `unfreed`, the next action is the same one, in either order."""
    act = Act("s-1", 0, "act", NARROW, Run("prod", "app-1", 0, 5), "task_failures", "", "", "")
    for order in ((real, "unfreed"), ("unfreed", real)):
        book = OutcomeBook()
        for outcome in order:
            book.hint(Receipt(signal_id="s-1", app_id="app-1", outcome=outcome))
        found = book.of(act, 1, Times())
        verified = replace(act, outcome=found.outcome, contested=found.contested)

        assert (found.outcome, next_action((NARROW, WIDE), [verified])) == ("unfreed", NARROW)


def test_unfreed_alone_widens_the_action():
    """Without a contradicting receipt, the next action after `unfreed` is the next wider one."""
    act = Act("s-1", 0, "act", NARROW, Run("prod", "app-1", 0, 5), "task_failures", "", "", "", outcome="unfreed")

    assert next_action((NARROW, WIDE), [act]) == WIDE


def test_huge_receipt_cannot_block_the_audit_log(world, make_controller, show):
    """The audit log repeats at most 500 characters of a receipt, so its record is never too large to be written."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    controller.read_receipt(answer(world.acts[0], "disagrees", reason="x" * 1_000_000, gate="y" * 1_000_000))
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    controller.read_receipt(answer(world.probes[-1], "would_not_act", gate="y" * 1_000_000))
    show(controller, application_row("healthy-1", "succeeded"))
    controller.evaluate(world)

    assert outcomes(world) == ["refused"]
    assert max(len(content) for content in world.contents) < 5_000


def test_flood_of_receipts_is_forgotten(world, make_controller):
    """Receipts of unknown signals are removed at the next evaluation, so that a flood does not fill the memory."""
    controller = make_controller("act")
    for number in range(1_000):
        controller.read_receipt(Receipt(signal_id=f"s-{number}", app_id=f"app-{number}", outcome="ended", at_ms=2**62))
    controller.evaluate(world)

    assert controller.outcomes.size() == 0
