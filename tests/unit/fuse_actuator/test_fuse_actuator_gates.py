"""Tests that each gate of the external actuator prevents a wrong stop, which happens if the gate is removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_native_analytics.fuse_actuator.actuator_memory import Memory, Stop, write_memory
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import Ended, Running, Unknown
from sparkfuse_native_analytics.fuse_actuator.gates import GATES
from tests.unit.fuse_actuator.actuator_scene import INSTANCE, NOW_MS, START_MS, policy_line

MINUTE_MS = 60_000


def revoked_key(scene):
    key_id = next(each.key_id for each in scene.keys.ring.values() if each.purpose == "act")
    control = Control(control_id="revoke", kind="revoke_key", key_id=key_id, actor="dana", reason="stolen",
                      issued_ms=NOW_MS)  # fmt: skip
    scene.control(control)
    return scene.send(scene.signal())


def writer_chose_the_time(scene):
    return scene.send(scene.signal(), appended_ms=None)


def wrong_clock(scene):
    return scene.send(scene.signal(issued_ms=NOW_MS + MINUTE_MS, expires_ms=NOW_MS + 2 * MINUTE_MS))


def expired(scene):
    return scene.send(
        scene.signal(issued_ms=NOW_MS - 130_000, expires_ms=NOW_MS - 10_000), appended_ms=NOW_MS - 130_000
    )


def fenced_controller(scene):
    scene.send(scene.signal(6, probe=True, epoch=5))
    return scene.send(scene.signal(7, epoch=4))


def replayed(scene):
    scene.send(scene.signal(7, probe=True))
    return scene.send(scene.signal(7))


def not_announced(scene):
    return scene.send(scene.signal(), announced=False)


def unknown_policy(scene):
    return scene.send(scene.signal(line=policy_line(rule="other")))


def shadow(scene):
    scene.settings = replace(scene.settings, mode="shadow")
    return scene.send(scene.signal())


def unlisted_job(scene):
    return scene.send(scene.signal(job_key="notebook/alice"))


def held(scene):
    scene.hold()
    return scene.send(scene.signal())


def unarmed(scene):
    scene.edge.book = type(scene.edge.book)(scene.keys.ring)
    return scene.send(scene.signal())


def unapproved(scene):
    return scene.send(scene.signal(line=policy_line(approval=True)))


def over_budget(scene):
    spent = Memory().spend(Stop(NOW_MS - MINUTE_MS, "other", "nightly/load"), "")
    write_memory(scene.settings.state_file, spent)
    return scene.send(scene.signal())


def manager_silent(scene):
    scene.manager.found = Unknown("no answer in time")
    return scene.send(scene.signal())


def other_attempt(scene):
    scene.manager.found = Running(INSTANCE, START_MS, 2)
    return scene.send(scene.signal())


def started_later(scene):
    scene.manager.found = Running(INSTANCE, START_MS + 7_000_000, 1)
    return scene.send(scene.signal())


def stale_row(scene):
    scene.edge.latest = scene.row(NOW_MS - 21_000)
    return scene.send(scene.signal())


def alive(scene):
    scene.edge.latest = scene.row(outlived_ms=1_799_999)
    return scene.send(scene.signal())


def paused(scene):
    scene.edge.pause_ms = 10_001
    return scene.send(scene.signal())


CASES = {
    "signature": (revoked_key, "refused"),
    "timestamp": (writer_chose_the_time, "refused"),
    "clock": (wrong_clock, "refused"),
    "lifetime": (expired, "expired"),
    "epoch": (fenced_controller, "refused"),
    "generation": (replayed, "refused"),
    "announced": (not_announced, "refused"),
    "policy": (unknown_policy, "refused"),
    "mode": (shadow, "refused"),
    "job": (unlisted_job, "refused"),
    "hold": (held, "held"),
    "armed": (unarmed, "refused"),
    "approval": (unapproved, "refused"),
    "budget": (over_budget, "refused"),
    "manager": (manager_silent, "blind"),
    "attempt": (other_attempt, "disagrees"),
    "start": (started_later, "disagrees"),
    "evidence": (stale_row, "blind"),
    "predicate": (alive, "disagrees"),
    "pause": (paused, "refused"),
}
# Without the time of the broker, clock and lifetime refuse too; without an instance, a stop has no target.
ALSO_PREVENTED_BY = {"timestamp": ("clock", "lifetime")}


def test_each_gate_has_a_case():
    """Each gate has a test case."""
    assert set(CASES) == set(GATES)


@pytest.mark.parametrize("gate", GATES)
def test_gate_prevents_its_stop(scene, gate):
    """The gate refuses, the receipt names the gate, and the cluster manager gets no request."""
    situation, outcome = CASES[gate]

    assert situation(scene) == (outcome, gate)
    assert scene.manager.stops == []


@pytest.mark.parametrize("gate", GATES)
def test_stop_would_happen_without_the_gate(scene, gate):
    """If the gate is removed, the situation in its test case leads to a request to the cluster manager."""
    for name in (gate, *ALSO_PREVENTED_BY.get(gate, ())):
        del scene.gates[name]
    CASES[gate][0](scene)

    assert len(scene.manager.stops) == 1


@pytest.mark.parametrize(
    "row",
    [
        lambda scene: None,
        lambda scene: scene.row(NOW_MS + 21_000),
        lambda scene: scene.row(completeness=0.98),
        lambda scene: scene.row(start_ms=START_MS + 1),
    ],
    ids=["no row", "from the future", "incomplete", "of another run"],
)
def test_unclear_evidence_stops_nothing(scene, row):
    """A row is not evidence if it is missing, from the future, computed from incomplete facts, or of another run."""
    scene.edge.latest = row(scene)

    assert scene.send(scene.signal()) == ("blind", "evidence")
    assert scene.manager.stops == []


def test_absent_column_is_no_evidence(scene):
    """A condition on a column that the row does not have is false."""
    scene.edge.latest.application.ClearField("outlived_ms")

    assert scene.send(scene.signal()) == ("disagrees", "predicate")


def test_unreachable_controls_are_a_hold(scene):
    """If the controls cannot be read to their end, nothing is stopped."""
    scene.edge.book = None

    assert scene.send(scene.signal()) == ("held", "hold")


@pytest.mark.parametrize("found", [Ended("KILLED"), Unknown("403"), Unknown("two pods")])
def test_anything_but_running_stops_nothing(scene, found):
    """An application is not stopped if it has ended or its state is not known."""
    scene.manager.found = found

    assert scene.send(scene.signal()) == ("blind", "manager")
    assert scene.manager.stops == []


@pytest.mark.parametrize(
    ("approval", "reason"),
    [
        (lambda scene, signal: scene.approve(signal, digest="0" * 64), "another target"),
        (lambda scene, signal: scene.approve(signal, expires_ms=NOW_MS), "has expired"),
        (lambda scene, signal: scene.approve(signal, approval_id=""), "already used"),
    ],
)
def test_approval_must_fit(scene, approval, reason):
    """An approval is refused if it is for another target, has expired, or has no id."""
    signal = approval(scene, scene.signal(line=policy_line(approval=True)))

    assert scene.send(signal) == ("refused", "approval")
    assert reason in scene.edge.receipts[-1].reason


def test_approval_is_used_once(scene):
    """A valid approval allows only one stop, even after a restart."""
    scene.settings = replace(scene.settings, budget=type(scene.settings.budget)(9, 9))
    first = scene.approve(scene.signal(line=policy_line(approval=True)))

    assert scene.send(first) == ("ended", "")

    scene.restart()
    scene.manager.found = Running(INSTANCE, START_MS, 1)
    second = scene.approve(scene.signal(8, line=policy_line(approval=True)))

    assert scene.send(second) == ("refused", "approval")
    assert len(scene.manager.stops) == 1
