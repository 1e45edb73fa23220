"""Tests batches of the loader that contain no row for the store."""

from __future__ import annotations

import numpy as np
import pytest

from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS, Feed

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
