"""Tests batches of the loader that contain no row for the store, or fewer rows than records."""

from __future__ import annotations

import numpy as np
import pytest

from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS, Feed
from sparkfuse_rules.knowledge.precision import MAX_AHEAD_MS

TICK = next(row for row in examples_of(LiveRow).values() if row.WhichOneof("row") == "tick").SerializeToString()


@pytest.mark.parametrize("feed", FEEDS, ids=lambda feed: feed.table)
@pytest.mark.parametrize("value", [b"\xff\xff\xff", None], ids=["damaged", "deleted"])
def test_batch_without_valid_records_has_no_tables(feed: Feed, value: bytes | None) -> None:
    """If all records of a batch are invalid or deleted, nothing is stored, and each damaged one is counted."""
    batch = make_batch(feed, Records(0, np.arange(3), [value] * 3), "topic")

    assert batch.tables == ()
    assert value is None or len(batch.rejected) == 3


def test_batch_of_ticks_only_has_no_tables() -> None:
    """While no application runs, the topic live contains only ticks of the clock, which are not stored."""
    (live,) = (feed for feed in FEEDS if feed.table == "live")
    batch = make_batch(live, Records(0, np.arange(2), [TICK] * 2), "topic")

    assert (batch.tables, batch.rejected) == ((), ())


def test_verdicts_from_the_future_are_rejected() -> None:
    """A verdict that would replace all later ones becomes a dead letter; the others of its batch are stored."""
    (feedback,) = (feed for feed in FEEDS if feed.table == "feedback")
    now_ms = 1_795_226_470_000
    times = [now_ms + MAX_AHEAD_MS + 1, now_ms + MAX_AHEAD_MS, 1]
    values = [to_json(Feedback(finding_id="f1", person="ada", verdict="useful", at_ms=each)) for each in times]
    batch = make_batch(feedback, Records(0, np.arange(3), values, np.full(3, now_ms)), "topic")
    ((_, stored),) = batch.tables

    assert stored["at_ms"].to_pylist() == times[1:]
    assert [(each.offset, each.reason) for each in batch.rejected] == [
        (0, "not a Feedback: its at_ms is more than 5 minutes in the future")
    ]
