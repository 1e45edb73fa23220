"""Tests that signed holds and armings of operators decide what the fuse controller may stop."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_native_analytics.fuse_controller.safeguards import Arming, Hold
from tests.unit.fuse_controller.scene import (
    NOW_MS,
    RULE,
    Keys,
    arming,
    finding,
    hold,
    live_row,
    put,
)

RUNAWAY = (live_row(), finding())


@pytest.mark.parametrize(
    ("control", "held"),
    [
        pytest.param(hold(), True, id="everything"),
        pytest.param(hold(rule=RULE, job="ord*", app="app-?", cluster="pr*"), True, id="all patterns match"),
        pytest.param(hold(job="ord"), False, id="another job"),
        pytest.param(hold(app="app-[1]"), False, id="a bracket is an ordinary character"),
        pytest.param(hold(until_ms=NOW_MS), False, id="expired"),
        pytest.param(hold(released=True), False, id="released"),
    ],
)
def test_signed_hold_prevents_the_act(world, make_controller, show, control, held):
    """A hold in the topic `controls` prevents the act until the hold ends."""
    controller = make_controller("act")
    assert put(world, controller, control) is None
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == (["held"] if held else ["sent"])


def test_bracket_in_hold_of_file_is_literal(world, make_controller, show):
    """The character `[` in a hold of sparkfuse.yaml is literal and does not start a set of characters."""
    controller = make_controller("act", holds=(Hold("table [a]", job="orders[a]"),))
    show(controller, live_row(), finding(job_key="orders[a]"), live_row("app-2"), finding("app-2", job_key="ordersa"))
    controller.evaluate(world)

    assert [(record.step, record.app_id) for record in world.records] == [("sent", "app-2"), ("held", "app-1")]


def test_deleted_record_does_not_end_a_hold(world, make_controller, show):
    """An empty record does not release a hold. Otherwise, anybody who can delete records could release a hold."""
    controller = make_controller("act")
    put(world, controller, hold())
    controller.controls.put("hold-1", None, NOW_MS)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.acts == []


@pytest.mark.parametrize(
    "content",
    [b"not JSON", b"{}", b'{"payload":"{}","signature":"AAAA","key_id":"0000000000000000","purpose":"approve"}'],
    ids=["malformed", "empty", "unknown key"],
)
def test_unverified_control_holds_everything(world, make_controller, show, content):
    """While a control cannot be verified, nothing is stopped, until a valid control replaces it.

    The unverified control may have replaced a hold.
    """
    controller = make_controller("act")
    assert controller.controls.put("hold-1", content, NOW_MS) is not None
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == ["held"]
    assert put(world, controller, hold(released=True)) is None
    controller.evaluate(world)
    assert world.steps == ["held", "sent"]


def test_control_of_another_purpose_is_refused(world, make_controller):
    """A key that may sign signals cannot sign a hold or an arming."""
    from sparkfuse_contracts.wire import to_json
    from sparkfuse_native_analytics.fuse_controller.signing import sign

    controller = make_controller("act", armed=False)
    forged = to_json(sign(arming(), "controls", "act", world.keys.private["act"]))

    assert "is for act, not for approve" in controller.controls.put("arm-cancel_stage", forged, NOW_MS)


def test_expired_key_signs_nothing_but_its_old_controls_stay(make_controller, world):
    """A control that an expired key signs is refused, but holds that the key signed earlier stay.

    The controller compares the expiry with the time at which the broker appended the record.
    """
    from datetime import date

    from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject

    keys = Keys(last_day=date(2026, 11, 20))
    book = ControlBook(keys.ring)
    old_ms = NOW_MS - 20 * 24 * 3_600_000
    subject = Subject("prod", RULE, "orders", "app-1")

    assert "expired after 2026-11-20" in book.put("late", keys.control(hold("late")), NOW_MS)
    assert book.put("late", keys.control(hold("late", released=True)), old_ms) is None
    assert book.hold(subject, NOW_MS) is None
    assert book.put("old", keys.control(hold("old")), old_ms) is None
    assert book.hold(subject, NOW_MS) is not None


def test_arming_of_a_revoked_key_allows_nothing(world, make_controller, show):
    """If a control that another key signed revokes the key of an arming, the arming ends.

    Holds that the revoked key signed stay.
    """
    other = Keys()
    from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject
    from sparkfuse_native_analytics.fuse_controller.keys import KeyRing

    both = KeyRing([*world.keys.ring.values(), *other.ring.values()])
    book, subject = ControlBook(both), Subject("prod", RULE, "orders", "app-1")
    thief = next(key.key_id for key in world.keys.ring.values() if key.purpose == "approve")
    book.put("arm-cancel_stage", world.keys.control(arming()), NOW_MS)
    book.put("hold-1", world.keys.control(hold()), NOW_MS)
    assert book.arming(subject, "cancel_stage", NOW_MS) is not None
    revoke = Control(control_id="revoke-1", kind="revoke_key", key_id=thief, actor="dana", issued_ms=NOW_MS)
    assert book.put("revoke-1", other.control(revoke), NOW_MS) is None

    assert book.arming(subject, "cancel_stage", NOW_MS) is None
    assert book.hold(subject, NOW_MS) is not None
    assert "is revoked" in book.put("arm-2", world.keys.control(arming(control_id="arm-2")), NOW_MS)


@pytest.mark.parametrize(
    ("control", "note"),
    [
        pytest.param(None, "no arming", id="not armed"),
        pytest.param(arming(until_ms=NOW_MS), "no arming", id="expired"),
        pytest.param(arming("cancel_jobs"), "no arming", id="another action"),
        pytest.param(arming(job="other*"), "no arming", id="another job"),
        pytest.param(arming(released=True), "no arming", id="disarmed"),
        pytest.param(arming(), "0 of 2 healthy runs", id="no record of probes"),
    ],
)
def test_unarmed_rule_asks_the_hook_instead(world, make_controller, show, control, note):
    """If the rule has no valid arming, or too few probes of healthy runs, mode act behaves like mode shadow.

    The controller sends a probe to the hook, and nothing is stopped.
    """
    controller = make_controller("act", armed=False, arming=Arming(2))
    if control is not None:
        put(world, controller, control)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.acts == []
    assert world.steps == ["would_act"]
    assert note in world.records[0].reason
    assert [probe.action for probe in world.probes] == ["cancel_stage"]
