"""Tests acts of the external actuator: which receipts the controller accepts, and what shows the outcome."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.outcomes import OutcomeBook
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending

RUN = Run("prod", "application_17_0001", 1, 17)
TIMES = Times()
SOON_MS, LATER_MS = 1_000, TIMES.cool_down_ms


@pytest.mark.parametrize(
    ("action", "actor", "outcome", "after_ms", "expected"),
    [
        ("external_stop", "actuator", "ended", SOON_MS, "ended"),
        ("external_stop", "actuator", "unfreed", SOON_MS, "unfreed"),
        ("external_stop", "actuator", "disagrees", SOON_MS, "refused"),
        ("external_stop", "", "ended", SOON_MS, None),
        ("external_stop", "", "ended", LATER_MS, "unknown"),
        ("external_stop", "", "refused", SOON_MS, None),
        ("stop_application", "actuator", "unfreed", SOON_MS, None),
        ("stop_application", "", "ended", SOON_MS, None),
        ("stop_application", "", "unfreed", SOON_MS, "unfreed"),
    ],
)
def test_only_who_carries_out_the_action_shows_its_outcome(action, actor, outcome, after_ms, expected):
    """The actuator's receipts show the outcome of an external stop; for other actions, the hook's receipts do."""
    act = Act("s-1", 0, "act", action, RUN, "application_zombie", "", "", "")
    book = OutcomeBook()
    book.hint(Receipt(signal_id="s-1", app_id=RUN.app_id, outcome=outcome, actor=actor, reason="killed"))

    found = book.of(act, after_ms, TIMES)

    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(("action", "expected"), [("external_stop", None), ("stop_application", "ended")])
def test_end_by_rows_shows_no_external_stop(action, expected):
    """The rows of a zombie show an end although its processes run, so rows do not prove an external stop."""
    act = Act("s-1", 0, "act", action, RUN, "application_zombie", "", "", "")
    book = OutcomeBook()
    book.end(Ending(RUN, "succeeded"))

    found = book.of(act, SOON_MS, TIMES)

    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(("action", "expected"), [("cancel_stage", "ended"), ("stop_application", None)])
def test_end_of_the_stage_shows_no_stop_of_the_application(action, expected):
    """A stage can end while its application continues, so only the end of the run verifies such a stop."""
    act = Act("s-1", 0, "act", action, RUN, "task_failures", "", "", "", stage=(3, 0))
    book = OutcomeBook()
    book.end(Ending(RUN, "failed", stage=(3, 0)))
    before = book.of(act, SOON_MS, TIMES)
    book.end(Ending(RUN, "failed"))

    assert (before[0] if before else None) == expected
    assert book.of(act, SOON_MS, TIMES)[0] == "ended"


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [((), None), (("ended",), "ended"), (("unfreed",), "unfreed"), (("unfreed", "ended"), "unfreed")],
)
def test_end_of_the_stage_alone_shows_no_end_of_all_jobs(outcomes, expected):
    """Other jobs of the application may still run after the stage ended, so the hook must report their end too."""
    act = Act("s-1", 0, "act", "cancel_jobs", RUN, "task_failures", "", "", "", stage=(3, 0))
    book = OutcomeBook()
    book.end(Ending(RUN, "failed", stage=(3, 0)))
    for outcome in outcomes:
        book.hint(Receipt(signal_id="s-1", app_id=RUN.app_id, outcome=outcome))

    found = book.of(act, SOON_MS, TIMES)

    assert (found[0] if found else None) == expected


def test_row_corrects_a_receipt_that_the_work_continues():
    """Work that ends after the hook gave up waiting for it has ended; an external stop is not verified by rows."""
    for action, expected in (("cancel_stage", "ended"), ("external_stop", None)):
        act = Act("s-1", 0, "act", action, RUN, "task_failures", "", "", "", stage=(3, 0), outcome="unfreed")
        book = OutcomeBook()
        assert book.changed(act) is None
        book.end(Ending(RUN, "failed", stage=(3, 0)))

        assert ((found := book.changed(act)) and found[0]) == expected
