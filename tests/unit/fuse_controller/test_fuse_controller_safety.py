"""Tests the ways in which a fuse could stop the wrong job, each with the gate that prevents the stop."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from sparkfuse_native_analytics.fuse_controller.environment import FencedError
from sparkfuse_native_analytics.fuse_controller.gates import GATES, AffectedApplications, Health
from sparkfuse_native_analytics.fuse_controller.protected import Protected
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture, Budget
from sparkfuse_native_analytics.fuse_controller.silences import Matcher, Silence
from sparkfuse_native_analytics.fuse_controller.working_hours import WorkingHours
from tests.unit.fuse_controller.scene import (
    MINUTE_MS,
    NOW_MS,
    answer,
    application_row,
    finding,
    healthy_row,
    hold,
    live_row,
    put,
)

EVERYTHING = Matcher("alertname", "Sparkfuse.*", True, True)
RUNAWAY = (live_row(), finding())
# For each gate, the rows and findings of a case in which only this gate prevents the act.
FORBIDDEN = {
    "finding": (live_row(), finding(now_ms=NOW_MS + 10_001)),
    "view": (live_row(now_ms=NOW_MS + 10_001), finding()),
    "completeness": (live_row(), finding(completeness=0.98)),
    "severity": (live_row(), finding(severity="warning")),
    "big_picture": [m for n in range(3) for m in (live_row(f"app-{n}"), finding(f"app-{n}", job_key=f"job-{n}"))],
    "budget": [
        message
        for n in range(2)
        for message in (live_row(f"app-{n}", cluster=f"c{n}"), finding(f"app-{n}", cluster=f"c{n}"))
    ],
}


def act_before(world, controller, show):
    """Let the controller act once, and let the hook refuse after it had announced the act."""
    show(controller, *RUNAWAY)
    controller.evaluate(world)
    signal = world.signals.pop()
    controller.read_receipt(answer(signal, "requested"))
    controller.read_receipt(answer(signal, "disagrees"))


def protecting(policy, *entries):
    """Return the policy with protected jobs."""
    return replace(policy, safeguards=replace(policy.safeguards, protected=entries))


# For each gate, a function that prepares the rest of its case.
PREPARE = {
    "caught_up": lambda world, *_: setattr(world, "state", Health("a partition is not read to its end", 0)),
    "clock": lambda world, *_: setattr(world, "state", Health("", 10_001)),
    "fuse": act_before,
    "protected": lambda _, controller, __: controller.use(protecting(controller.policy, Protected("x", job="ord*"))),
    "hold": lambda world, controller, _: put(world, controller, hold()),
    "silence": lambda world, *_: world.active_silences.append(Silence("s-1", "", (EVERYTHING,))),
}


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("removed", [False, True], ids=["with", "without"])
def test_each_gate_prevents_an_act(world, make_controller, show, gate, removed):
    """In each case exactly one gate prevents the act; if this gate is removed, the act takes place."""
    budget = Budget(job_per_hour=1 if gate == "budget" else 9)
    controller = make_controller("act", without_gate=gate if removed else "", budget=budget)
    PREPARE.get(gate, lambda *_: None)(world, controller, show)
    show(controller, *FORBIDDEN.get(gate, RUNAWAY))
    controller.evaluate(world)
    expected = {"budget": 1}.get(gate, 0)

    assert (len(world.acts) > expected) is removed


def test_orders_of_persons_are_in_the_audit_log(world, make_controller):
    """Each hold, arming and release is recorded with the person's name, and only once despite a restart."""
    controller = make_controller("act")
    for control in (hold(), hold(released=True, reason="over", actor="kim", issued_ms=NOW_MS)):
        assert put(world, controller, control) is None
        controller.evaluate(world)
        controller.evaluate(world)
    again = make_controller("act")
    again.evaluate(world)

    assert [(record.step, record.actor, record.reason, record.control_id) for record in world.orders] == [
        ("armed", "dana", "probed", "arm-cancel_stage"),
        ("hold_set", "dana", "release night", "hold-1"),
        ("hold_released", "kim", "over", "hold-1"),
    ]


@pytest.mark.parametrize(
    ("entry", "user", "held"),
    [
        pytest.param({"job": "ord*"}, "etl", True, id="job"),
        pytest.param({"job": "ord"}, "etl", False, id="another job"),
        pytest.param({"team": "da?a"}, "etl", True, id="team"),
        pytest.param({"tenant": "sales", "cluster": "test"}, "etl", False, id="only one of two patterns"),
        pytest.param({"user": "et*"}, "etl", True, id="user"),
        pytest.param({"user": "root"}, "etl", False, id="another user"),
        pytest.param({"user": "root"}, None, True, id="the user is not known"),
        pytest.param({"user": "root", "job": "other"}, None, False, id="unknown user of another job"),
    ],
)
def test_protected_job_is_never_acted_on(world, make_controller, show, entry, user, held):
    """No act is possible on a job that sparkfuse.yaml protects, even if the rule is armed or the user is unknown."""
    controller = make_controller("act", protected=(Protected("payroll", **entry),))
    application = application_row("app-1", "running", seq=2)
    if user:
        application.application.user_name = user
    show(controller, application, *RUNAWAY)
    controller.evaluate(world)

    assert world.steps == (["held"] if held else ["sent"])
    assert [record.gate for record in world.records if record.gate] == (["protected"] if held else [])


@pytest.mark.parametrize(
    ("hours", "outside", "steps"),
    [
        pytest.param(
            WorkingHours("UTC", frozenset(range(7)), 0, 1440), Budget(global_per_hour=0), ["sent"], id="within"
        ),
        pytest.param(
            WorkingHours("UTC", frozenset(), 0, 1440), Budget(global_per_hour=0), ["over_budget"], id="outside"
        ),
        pytest.param(WorkingHours("UTC", frozenset(), 0, 1440), Budget(), ["sent"], id="outside with a budget"),
        pytest.param(None, Budget(global_per_hour=0), ["sent"], id="no working hours"),
    ],
)
def test_other_budget_applies_outside_of_working_hours(world, make_controller, show, hours, outside, steps):
    """Outside of working hours, a different budget applies, so that acts can be forbidden while nobody can react."""
    controller = make_controller("act", working_hours=hours, budget_outside=outside)
    show(controller, *RUNAWAY)
    controller.evaluate(world)

    assert world.steps == steps


def test_generation_exceeds_all_earlier_ones(world, make_controller, show):
    """Each generation is higher than all earlier ones, even after a restart or if the clock goes back.

    The generation is the sequence number of the audit record.
    """
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)
    world.time_ms -= 3_600_000
    second = make_controller("act")
    show(second, live_row("app-2", world.time_ms), finding("app-2", world.time_ms))
    second.evaluate(world)
    first_signal, second_signal = world.acts

    assert second_signal.generation > first_signal.generation
    assert (first_signal.epoch, second_signal.epoch) == (1, 2)


def test_controller_of_a_lower_epoch_ends(world, make_controller, show):
    """A controller that reads a record of a later controller exits instead of acting."""
    first = make_controller("act")
    second = make_controller("act")
    assert (first.audit.epoch, second.audit.epoch) == (1, 2)
    from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
    from sparkfuse_contracts.wire import from_json

    content = world.contents[-1]
    with pytest.raises(FencedError, match="epoch 2 has taken over"):
        first.audit.read(content, from_json(AuditRecord, content), None)


def test_aborted_step_leaves_no_trace(world, make_controller, show):
    """If the transaction is aborted, fuse, budget and audit chain stay unchanged, and the next attempt succeeds."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    world.broken = True
    with pytest.raises(OSError, match="broker"):
        controller.evaluate(world)
    world.broken = False
    controller.evaluate(world)

    assert world.steps == ["sent"]
    assert [signal.generation for signal in world.acts] == [world.records[0].sequence]


def test_invalid_file_puts_an_armed_rule_in_shadow_mode(world, make_controller, show, tmp_path):
    """If sparkfuse.yaml is invalid or deleted, an armed rule is no longer armed."""
    import dataclasses

    controller = make_controller("act")
    controller.use(dataclasses.replace(controller.policy, error="sparkfuse.yaml: 'hodls' is unknown"))
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.acts == []
    assert world.steps == ["would_act"]


def test_share_counts_acts_of_the_last_15_minutes(world, make_controller, show):
    """The share of affected applications includes all acts of the last 15 minutes, verified or not.

    Thus a fault that spreads from one application to the next is detected.
    """
    controller = make_controller("act", big_picture=BigPicture(0.1, 3), budget=Budget(9, 99, 99, 99, 99))
    for minute in range(12):
        world.time_ms = NOW_MS + minute * MINUTE_MS
        healthy = [healthy_row(f"healthy-{n}", world.time_ms, minute + 1) for n in range(8)]
        app_id = f"app-{minute}"
        ended = [live_row(f"app-{minute - 1}", world.time_ms, 2, status="failed")] if minute else []
        show(controller, *healthy, *ended, live_row(app_id, world.time_ms), finding(app_id, world.time_ms))
        controller.evaluate(world)

    assert len(world.acts) == 2
    assert world.steps.count("big_picture") == 1


def test_share_is_computed_for_each_cluster(world, make_controller, show):
    """The share of affected applications is computed per cluster.

    Healthy applications of another cluster cannot hide a small cluster that fails.
    """
    controller = make_controller("act")
    dying = [m for n in range(4) for m in (live_row(f"app-{n}", cluster="small"), finding(f"app-{n}", cluster="small"))]
    healthy = [healthy_row(f"healthy-{n}") for n in range(200)]
    show(controller, *healthy, *dying)
    controller.evaluate(world)

    assert world.acts == []
    assert [(record.step, record.cluster) for record in world.records] == [("big_picture", "small")]
    assert controller.stopped_clusters == {"small"}


def test_ten_thousand_condemned_applications_cause_one_record(world, make_controller, show):
    """If a rule matches a whole fleet at the same time, the controller writes one record and sends no signal.

    The controller also sets one gauge, on which an alert is defined.
    """
    controller = make_controller("act")
    show(controller, *(live_row(f"app-{n}") for n in range(10_000)))
    show(controller, *(finding(f"app-{n}", job_key=f"job-{n}") for n in range(10_000)))
    began = time.process_time()
    controller.evaluate(world)
    print(f"decided about 10,000 applications in {time.process_time() - began:.2f} s of CPU time")

    assert world.steps == ["big_picture"]
    assert world.signals == []


def test_signal_is_as_old_as_its_evidence(world, make_controller, show):
    """If the controller pauses before it writes, the hook refuses the signal, because the decision is too old."""
    controller = make_controller("act")
    controller.evaluate(world)
    show(controller, live_row(), finding())
    write = world.write

    def late(audit, signals):
        world.time_ms += 60_000
        write(audit, signals)

    world.write = late
    controller.evaluate(world)
    (signal,) = world.acts

    assert (signal.issued_ms, world.time_ms) == (NOW_MS, NOW_MS + 60_000)


def test_late_version_of_a_finding_is_ignored(world, make_controller, show):
    """A firing version that arrives after the newer resolved one causes no act."""
    controller = make_controller("act")
    show(controller, live_row(), finding(now_ms=NOW_MS), finding(now_ms=NOW_MS - 1, severity="warning"))
    controller.evaluate(world)

    assert len(world.acts) == 1


def test_resolved_run_of_a_firing_finding_causes_no_act(world, make_controller, show):
    """A finding can fire for one run and be resolved for another; only the firing run is acted on."""
    controller = make_controller("act")
    of_two = finding("app-1")
    of_two.runs[0].state = "resolved"
    show(controller, live_row(), of_two)
    controller.evaluate(world)

    assert world.acts == []


def test_affected_applications_count_as_running(world, make_controller):
    """If more applications are affected than the view knows, the limit compares with the affected ones."""
    bounds = BigPicture(0.5, 3)

    assert AffectedApplications("prod", 0, 3).exceeds(bounds)
    assert not AffectedApplications("prod", 8, 3).exceeds(bounds)
