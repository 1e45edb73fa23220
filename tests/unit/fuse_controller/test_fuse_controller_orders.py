"""Tests the orders of operators with the ControlBook that the controller, the actuator and the commands use."""

from __future__ import annotations

import time
from datetime import date

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, KeyRing, TrustedKey, key_id
from sparkfuse_native_analytics.fuse_operator import orders

HOUR_MS = 3_600_000
SUBJECT = Subject("prod", "stage_spill", "nightly", "app-1")
KEY = generate_private_key(SECP256R1())
OPERATOR = orders.Operator("dana", KEY)
SETTINGS = Settings.from_environment({})


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> ControlBook:
    """A book that receives each order that is given."""
    known = ControlBook(KeyRing([TrustedKey(key_id(KEY.public_key()), APPROVE, date(2099, 1, 1), KEY.public_key())]))

    def append(_settings: Settings, _topic: str, key: str, value: bytes) -> None:
        assert known.put(key, value, now_ms()) is None

    monkeypatch.setattr(orders, "append", append)
    return known


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def given_ahead(monkeypatch: pytest.MonkeyPatch, control: Control) -> Control:
    """Give an order on a computer whose clock is an hour ahead."""
    with monkeypatch.context() as ahead:
        ahead.setattr(orders, "_now_ms", lambda: now_ms() + HOUR_MS)
        return orders.give(SETTINGS, OPERATOR, control)


def test_arming_of_a_fast_clock_can_be_ended(book: ControlBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arming whose time is an hour in the future ends when somebody with a correct clock disarms the rule."""
    arming = orders.arm(orders.Selection(rule="stage_spill"), "cancel_stage", "test", now_ms() + 24 * HOUR_MS)
    given = given_ahead(monkeypatch, arming)
    assert book.arming(SUBJECT, "cancel_stage", now_ms()) is not None

    orders.give(SETTINGS, OPERATOR, orders.release(given, "wrong act"))

    assert book.arming(SUBJECT, "cancel_stage", now_ms()) is None


def test_everything_can_be_stopped_again(book: ControlBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stop-everything` holds even if an earlier one was released on a computer whose clock was ahead."""
    first = orders.give(SETTINGS, OPERATOR, orders.stop_everything("drill", now_ms() + HOUR_MS))
    given_ahead(monkeypatch, orders.release(first, "drill is over"))
    assert book.hold(SUBJECT, now_ms()) is None

    orders.give(SETTINGS, OPERATOR, orders.stop_everything("wrong act", now_ms() + HOUR_MS))

    assert book.hold(SUBJECT, now_ms()) is not None
