"""Tests that only probes of healthy runs arm a rule, and that receipts of other jobs change nothing."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.replays import LIFE_MS
from sparkfuse_native_analytics.fuse_controller.safeguards import Arming, Budget
from sparkfuse_native_analytics.fuse_controller.signing import sign
from tests.unit.fuse_controller.scene import (
    MINUTE_MS,
    NOW_MS,
    RULE,
    answer,
    application_row,
    arming,
    finding,
    healthy_row,
    live_row,
)

RUNAWAY = (live_row(), finding())


def end_run(world, controller, show, app_id, status="succeeded", seq=50):
    show(controller, healthy_row(app_id, seq=seq, status=status), application_row(app_id, status, seq=seq + 1))


def test_record_of_healthy_probes_arms_the_rule(world, make_controller, show):
    """A rule can be armed after probes of enough healthy runs whose hooks would not have acted.

    The record of probes survives a restart.
    """
    controller = make_controller("act", arming=Arming(2))
    for number in (1, 2):
        app_id = f"healthy-{number}"
        show(controller, healthy_row(app_id))
        controller.probe(world)
        controller.read_receipt(answer(world.probes[-1], "would_not_act", gate="predicate"))
        end_run(world, controller, show, app_id)
        controller.evaluate(world)
    assert [record.outcome for record in world.records if record.step == "probe_scored"] == ["true_negative"] * 2

    restarted = make_controller("act", arming=Arming(2))
    show(restarted, live_row(), finding())
    restarted.evaluate(world)
    assert [signal.app_id for signal in world.acts] == ["app-1"]


def test_one_false_probe_prevents_arming(world, make_controller, show):
    """If a hook would have acted on a run that later succeeded, the rule cannot be armed."""
    controller = make_controller("act", arming=Arming(1))
    for app_id, outcome in (("healthy-1", "would_not_act"), ("healthy-2", "would_act")):
        show(controller, healthy_row(app_id))
        controller.probe(world)
        controller.read_receipt(answer(world.probes[-1], outcome, gate="predicate"))
        end_run(world, controller, show, app_id)
        controller.evaluate(world)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.acts == []
    assert "would have acted on 1 of 2 healthy runs" in world.records[-1].reason


def policy_hash(controller):
    """Return the hash of the policy of the rule."""
    return controller.policy.rules[RULE].otherwise.policy_hash


def arm_with_replay(world, controller, runs="1", replayed_ms=NOW_MS - 1000, of=None, signer="approve", **fields):
    """Write an arming with the result of a replay; return why it was rejected."""
    control = arming(**fields, replayed_ms=replayed_ms)
    control.replayed_runs[of or policy_hash(controller)] = runs
    signed = to_json(sign(control, "controls", "approve", world.keys.private[signer]))
    return controller.controls.put(control.control_id, signed, NOW_MS)


def probe_healthy_run(world, controller, show):
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    controller.read_receipt(answer(world.probes[-1], "would_not_act", gate="predicate"))
    end_run(world, controller, show, "healthy-1")
    controller.evaluate(world)
    show(controller, live_row(), finding())


def test_replay_replaces_a_probe(world, make_controller, show):
    """The healthy runs that the arming's replay counted are evidence together with probes."""
    controller = make_controller("act", armed=False, arming=Arming(2, 1))
    assert arm_with_replay(world, controller) is None
    probe_healthy_run(world, controller, show)
    controller.evaluate(world)

    assert [signal.app_id for signal in world.acts] == ["app-1"]


@pytest.mark.parametrize(
    ("allowed", "reason"),
    [
        (Arming(3, 1), "1 of 3 healthy runs were probed, and 1 other runs were replayed"),
        (Arming(2), "1 of 2 healthy runs were probed"),
    ],
)
def test_replay_replaces_no_more_probes_than_the_platform_allows(world, make_controller, show, allowed, reason):
    """A replay of many runs counts only up to ``fuse.arming.replayed``, which is 0 by default."""
    controller = make_controller("act", armed=False, arming=allowed)
    assert arm_with_replay(world, controller, runs="250") is None
    probe_healthy_run(world, controller, show)
    controller.evaluate(world)

    assert world.acts == []
    assert f"{reason})" in world.records[-1].reason


@pytest.mark.parametrize(
    "replay",
    [
        pytest.param({"of": "0" * 64}, id="another policy"),
        pytest.param({"replayed_ms": NOW_MS - LIFE_MS}, id="old"),
        pytest.param({"replayed_ms": NOW_MS + 3_600_000}, id="from the future"),
        pytest.param({"replayed_ms": None}, id="without a time"),
        pytest.param({"runs": "-1"}, id="negative"),
        pytest.param({"runs": "9" * 5_000}, id="huge"),
        pytest.param({"runs": "\u0661"}, id="another digit"),
        pytest.param({"runs": ""}, id="empty"),
        pytest.param({"until_ms": NOW_MS - 1}, id="arming that has expired"),
        pytest.param({"rule": "stage_skew"}, id="arming of another rule"),
        pytest.param({"signer": "act"}, id="signed by the controller's key"),
    ],
)
def test_forged_or_old_replay_counts_nothing(world, make_controller, show, replay):
    """A replay counts only in a valid arming, for the same policy, and for 90 days."""
    controller = make_controller("act", arming=Arming(2, 1))
    arm_with_replay(world, controller, **({"control_id": "arm-replay"} | replay))
    probe_healthy_run(world, controller, show)
    controller.evaluate(world)

    assert world.acts == []


def test_false_probe_outweighs_a_replay(world, make_controller, show):
    """One false probe prevents the arming, whatever a replay of stored rows shows."""
    controller = make_controller("act", armed=False, arming=Arming(2, 1))
    arm_with_replay(world, controller, runs="250")
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    controller.read_receipt(answer(world.probes[-1], "would_act"))
    end_run(world, controller, show, "healthy-1")
    controller.evaluate(world)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.acts == []


@pytest.mark.parametrize("gate", ["hold", "mode", "blind", "target", ""])
def test_probe_without_an_evaluated_predicate_counts_nothing(world, make_controller, show, gate):
    """If a gate other than `predicate` refuses a probe, the run does not count as probed."""
    controller = make_controller("act", arming=Arming(1))
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    controller.read_receipt(answer(world.probes[-1], "would_not_act", gate=gate))
    end_run(world, controller, show, "healthy-1")
    controller.evaluate(world)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert [record.outcome for record in world.records if record.step == "probe_scored"] == ["not_evaluated"]
    assert world.acts == []


@pytest.mark.parametrize(
    ("receipt", "score"),
    [
        pytest.param(None, "affected", id="the hook acted"),
        pytest.param("refused", "false_positive", id="the hook refused"),
    ],
)
def test_probe_of_a_run_that_the_fuse_changed_is_no_evidence(world, make_controller, show, receipt, score):
    """If the fuse acted on a run, its success is no evidence against the rule; a refused act changes nothing."""
    controller = make_controller("act")
    show(controller, live_row())
    controller.probe(world)
    controller.read_receipt(answer(world.probes[-1], "would_act", gate=""))
    show(controller, finding())
    controller.evaluate(world)
    if receipt is not None:
        controller.read_receipt(answer(world.acts[-1], receipt, gate="predicate"))
        controller.evaluate(world)
    end_run(world, controller, show, "app-1")
    controller.evaluate(world)

    assert [signal.app_id for signal in world.acts] == ["app-1"]
    assert [record.outcome for record in world.records if record.step == "probe_scored"] == [score]


def test_probes_are_few(world, make_controller, show):
    """For each rule, a run gets one probe a minute and at most three in total.

    A run whose hook never answers gets only one probe.
    """
    controller = make_controller("shadow")
    for minute in range(6):
        world.time_ms = NOW_MS + minute * MINUTE_MS
        show(controller, healthy_row("with-hook", world.time_ms, minute + 1))
        show(controller, healthy_row("without", world.time_ms, minute + 1))
        for _ in range(3):
            controller.probe(world)
        for probe in [each for each in world.probes if each.app_id == "with-hook"]:
            controller.read_receipt(answer(probe, "received"))
    asked = [probe.app_id for probe in world.probes if probe.rule == RULE]

    assert (asked.count("with-hook"), asked.count("without")) == (3, 1)


def test_foreign_receipt_answers_no_probe(world, make_controller, show):
    """A receipt is accepted as the answer to a probe only if it comes from the probed application."""
    controller = make_controller("shadow")
    show(controller, healthy_row("healthy-1"))
    controller.probe(world)
    controller.read_receipt(answer(world.probes[0], "would_act", app_id="app-666"))
    end_run(world, controller, show, "healthy-1")
    controller.evaluate(world)

    assert "probe_scored" not in world.steps


def test_receipts_spend_no_budget_and_open_no_fuse(world, make_controller, show):
    """A forged receipt changes no budget, no fuse and no share of affected applications.

    Jobs can write receipts, so receipts are not trusted.
    """
    controller = make_controller("act", budget=Budget(1, 1, 1, 1, 1))
    for number in range(50):
        controller.read_receipt(
            Receipt(receipt_id=str(number), signal_id=f"s-{number}", app_id="app-1", rule=RULE, outcome="ended",
                    at_ms=2**62)
        )  # fmt: skip
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == ["sent"]
