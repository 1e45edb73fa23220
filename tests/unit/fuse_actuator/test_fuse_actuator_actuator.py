"""Tests the steps of the external actuator: probe, second reading, stop, restart, and faults of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkfuse_native_analytics.fuse_actuator.actuator import SignalRecord
from sparkfuse_native_analytics.fuse_actuator.actuator_memory import (
    FORGET_MS,
    Memory,
    MemoryUnusableError,
    Stop,
    read_memory,
    write_memory,
)
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import OwnBudget
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import Ended, Running, Unknown
from tests.unit.fuse_actuator.actuator_scene import INSTANCE, NOW_MS, START_MS, policy_line


def test_zombie_is_ended_once_and_its_end_is_reported(scene):
    """The receipts show each step; `ended` is written only after the cluster manager has reported the end."""
    assert scene.send(scene.signal()) == ("ended", "")
    assert scene.outcomes() == ["received", "requested", "ended"]
    assert scene.manager.stops == [INSTANCE]
    last = scene.edge.receipts[-1]
    assert last.actor == "actuator"
    assert last.reason == "the cluster manager reports the end: KILLED"
    assert dict(last.observed) == {
        "outlived_ms": "3e+06", "instance": INSTANCE, "started_ms": str(START_MS - 20_000),
    }  # fmt: skip


@pytest.mark.parametrize(
    "after_stop", [Unknown("it is being deleted"), Running(INSTANCE, START_MS, 1), Running("another", START_MS, 1)]
)
def test_application_that_does_not_end_is_unfreed(scene, after_stop):
    """If the manager does not report the end in time, the outcome is `unfreed`, never `ended`."""
    scene.manager.after_stop = after_stop

    assert scene.send(scene.signal()) == ("unfreed", "")
    assert scene.edge.waited_ms >= scene.settings.wait_ms
    assert len(scene.manager.stops) == 1


@pytest.mark.parametrize(("after_stop", "outcome"), [(Running(INSTANCE, START_MS, 1), "failed"), (Ended("x"), "ended")])
def test_refused_stop_is_reported(scene, after_stop, outcome):
    """If the manager refuses a stop, the outcome is `failed`, unless the application has ended anyway."""
    scene.manager.error, scene.manager.after_stop = "409 Conflict", after_stop

    assert scene.send(scene.signal()) == (outcome, "")


@pytest.mark.parametrize("would_act", [True, False])
def test_probe_is_answered_and_never_acts(scene, would_act):
    """A probe needs neither mode act, nor an arming, nor a listed job; the manager is only queried."""
    scene.settings = replace(scene.settings, mode="shadow", jobs=())
    scene.edge.book = type(scene.edge.book)(scene.keys.ring)
    if not would_act:
        scene.edge.latest = scene.row(outlived_ms=0)

    expected = ("would_act", "") if would_act else ("would_not_act", "predicate")
    assert scene.send(scene.signal(probe=True)) == expected
    assert scene.manager.stops == []
    assert scene.manager.looks == 1


def test_probe_that_is_not_valid_is_no_answer(scene):
    """An expired probe is refused, so its receipt is not counted as an answer."""
    signal = scene.signal(probe=True, issued_ms=NOW_MS - 130_000, expires_ms=NOW_MS - 10_000)

    assert scene.send(signal, appended_ms=NOW_MS - 130_000) == ("expired", "lifetime")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda scene: scene.hold(), ("held", "hold")),
        (lambda scene: setattr(scene.manager, "found", Ended("FINISHED")), ("blind", "manager")),
        (lambda scene: setattr(scene.manager, "found", Running("uid-2", START_MS, 1)), ("refused", "manager")),
        (lambda scene: setattr(scene.edge, "latest", scene.row(outlived_ms=0)), ("disagrees", "predicate")),
        (lambda scene: scene.edge.pass_time(121_000), ("expired", "lifetime")),
    ],
    ids=["held", "ended", "replaced", "alive", "expired"],
)
def test_change_after_the_request_prevents_the_stop(scene, change, expected):
    """After the request is recorded, everything is read again, so a change in the meantime prevents the stop."""
    scene.edge.on_receipt["requested"] = lambda: change(scene)

    assert scene.send(scene.signal()) == expected
    assert scene.manager.stops == []


@pytest.mark.parametrize("at", ["received", "requested"])
def test_receipt_that_is_not_confirmed_prevents_the_stop(scene, at):
    """If the broker does not confirm a receipt, there is neither a trusted time nor a record, so nothing is stopped."""
    if at == "received":
        scene.edge.acknowledges = False
    else:
        scene.edge.on_receipt["requested"] = lambda: setattr(scene.edge, "acknowledges", False)
    scene.send(scene.signal())

    assert scene.manager.stops == []


@pytest.mark.parametrize("changes", [{"action": "stop_application"}, {"action": "warn"}, {"cluster": "other"}], ids=str)
def test_signals_for_others_are_ignored(scene, changes):
    """A signal for hooks or for another cluster gets no receipt."""
    assert scene.send(scene.signal(**changes)) is None
    assert scene.manager.looks == 0


@pytest.mark.parametrize("purpose", ["switch", "approve"])
def test_key_of_another_purpose_stops_nothing(scene, purpose):
    """A key for switching collectors or for approvals cannot end an application."""
    assert scene.send(scene.signal(), purpose=purpose) is None
    assert scene.manager.looks == 0


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[]", b'{"purpose": "act", "payload": "{}"}'])
def test_forged_record_is_counted_and_ignored(scene, content):
    """A record that no trusted key signed causes neither a receipt nor a request."""
    scene.actuator().receive(SignalRecord(content, NOW_MS))

    assert scene.edge.receipts == []
    assert scene.manager.looks == 0


def test_duplicate_and_replay_after_restart_stop_once(scene):
    """A signal is carried out only once, even if the process is replaced and reads the signal again."""
    scene.settings = replace(scene.settings, budget=OwnBudget(9, 9))
    scene.send(scene.signal())
    for _ in range(2):
        scene.manager.found = Running(INSTANCE, START_MS, 1)
        scene.restart()

        assert scene.send(scene.signal()) == ("refused", "generation")

    assert len(scene.manager.stops) == 1


def test_refused_signal_is_never_carried_out_later(scene):
    """A copy of a signal that was refused for its controller's clock is refused when somebody appends it again."""
    signal = scene.signal(issued_ms=NOW_MS + 40_000, expires_ms=NOW_MS + 100_000)

    assert scene.send(signal) == ("refused", "clock")
    scene.edge.pass_time(40_000)
    assert scene.send(signal) == ("refused", "generation")
    assert scene.manager.stops == []


def test_budget_survives_a_restart_and_renews_after_an_hour(scene):
    """A restart does not renew the budget; only the passing of an hour does."""
    scene.send(scene.signal(7))
    scene.manager.found = Running(INSTANCE, START_MS, 1)
    scene.restart()

    assert scene.send(scene.signal(8)) == ("refused", "budget")

    scene.edge.pass_time(3_600_000)
    scene.edge.latest = scene.row(scene.edge.now_ms)

    assert scene.send(scene.signal(9)) == ("ended", "")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"epoch": 1}', '{"epoch": "x", "accepted": {}, "stops": []}'])
def test_unreadable_memory_prevents_the_start(scene, content):
    """A process that cannot read its state file does not start, because it could act twice."""
    scene.settings.state_file.write_text(content)

    with pytest.raises(MemoryUnusableError):
        scene.actuator()


def test_memory_that_cannot_be_written_prevents_the_stop(scene):
    """If the stop cannot be written to disk first, the stop is not requested."""
    scene.actuator()
    scene.settings.state_file.with_name(".actuator.json.new").mkdir()

    assert scene.send(scene.signal()) == ("failed", "")
    assert scene.manager.stops == []


def test_memory_forgets_what_cannot_matter(tmp_path):
    """The state file keeps entries that are at most one day old, and reading the file returns what was written."""
    old = Memory().admit("app-old", 3, 5, NOW_MS - FORGET_MS).spend(Stop(NOW_MS - FORGET_MS, "app-old", "job"), "a-1")
    memory = old.admit("app-new", 4, 9, NOW_MS).spend(Stop(NOW_MS, "app-new", "job"), "a-2")
    write_memory(tmp_path / "memory.json", memory)

    assert read_memory(tmp_path / "memory.json") == memory
    assert set(memory.accepted) == {"app-new"}
    assert [stop.app_id for stop in memory.stops] == ["app-new"]
    assert set(memory.approvals) == {"a-2"}
    assert memory.epoch == 4


def test_approval_that_the_policy_does_not_need_is_not_read(scene):
    """If the policy needs no approval, a malformed approval neither ends the process nor prevents the act."""
    signal = scene.signal(line=policy_line())
    signal.approval.payload = "not json"

    assert scene.send(signal) == ("ended", "")
