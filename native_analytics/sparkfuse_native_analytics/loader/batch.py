"""Converts records of one partition to Arrow tables; for topics with many records, without a Python loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkfuse_native_analytics.loader.derived import DERIVED
from sparkfuse_native_analytics.loader.feed import TICK, Feed
from sparkfuse_rules.knowledge.precision import MAX_AHEAD_MS, is_ahead

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """Records of one partition in their order; ``offsets`` has one offset for each value.

    ``appended_ms`` has Kafka's time of each record in ms since the epoch, or is None if the feed does not use it.
    """

    partition: int
    offsets: Offsets
    values: Sequence[bytes | None]
    appended_ms: Offsets | None = None


@dataclass(frozen=True)
class Rejected:
    """A record that is not a valid message of its topic."""

    offset: int
    reason: str
    payload: bytes


@dataclass(frozen=True)
class Batch:
    """The tables and invalid records of one batch.

    ``tables`` must be stored in their order, the feed's own table last. The loader resumes after the last offset in the
    feed's own table, so derived tables must be stored before that table.
    """

    tables: tuple[tuple[str, pa.Table], ...]
    rejected: tuple[Rejected, ...]
    token: str


def make_batch(feed: Feed, records: Records, topic_id: str) -> Batch:
    """Decode records into the feed's tables; equal records always give an equal batch.

    ``topic_id`` distinguishes a topic from an earlier topic of the same name.
    """
    values, unread = _as_protobuf(feed, records.values)
    decoded = feed.decoder.decode(values)
    reasons = {**dict(decoded.rejected), **unread}
    kept = np.delete(np.arange(len(values)), list(reasons))
    rows = pa.table(decoded.batches)
    rows, kept = _without_ticks(feed, rows, kept)
    rows, kept, lacking = _with_keys(feed, rows, kept)
    reasons |= lacking
    rows, kept, ahead = _without_future(feed, rows, kept, records.appended_ms)
    reasons |= ahead
    own = _table(feed, rows, records.partition, records.offsets[kept])
    # Without rows, as after a batch of ticks only, the table has no columns either.
    derived = tuple(derive(own) for derive in DERIVED.get(feed.table, ())) if own.num_rows else ()
    return Batch(
        tables=tuple((name, table) for name, table in (*derived, (feed.table, own)) if table.num_rows),
        rejected=tuple(_rejected(records, index, reasons[index]) for index in sorted(reasons)),
        token=f"{topic_id}/{records.partition}/{records.offsets[0]}-{records.offsets[-1]}",
    )


def _as_protobuf(feed: Feed, values: Sequence[bytes | None]) -> tuple[Sequence[bytes | None], dict[int, str]]:
    """Convert records of a JSON topic to messages; JSON topics have few records, so a loop is fast enough."""
    if feed.to_protobuf is None:
        return values, {}
    messages: list[bytes | None] = []
    reasons = {}
    for index, value in enumerate(values):
        try:
            messages.append(None if value is None else feed.to_protobuf(value))
        except ValueError as error:  # the contract's RecordError, or invalid UTF-8
            messages.append(None)
            reasons[index] = str(error)
    return messages, reasons


def _without_ticks(feed: Feed, rows: pa.Table, kept: Any) -> tuple[pa.Table, Any]:
    if feed.choice is None:
        return rows, kept
    wanted = pc.fill_null(pc.not_equal(rows[feed.choice], TICK), True)
    return rows.filter(wanted), kept[wanted.to_numpy()]


def _with_keys(feed: Feed, rows: pa.Table, kept: Any) -> tuple[pa.Table, Any, dict[int, str]]:
    lacking: dict[int, str] = {}
    for name in feed.required:
        absent = pc.is_null(rows[feed.columns[name]]).to_numpy()
        if absent.any():
            reason = f"not a {feed.message}: it has no {name}"
            lacking |= dict.fromkeys(kept[absent].tolist(), reason)
            rows, kept = rows.filter(pa.array(~absent)), kept[~absent]
    return rows, kept, lacking


def _without_future(
    feed: Feed, rows: pa.Table, kept: Any, appended_ms: Offsets | None
) -> tuple[pa.Table, Any, dict[int, str]]:
    """Remove the rows whose version is in the future; topics whose feed has a version have few records."""
    if feed.version is None or appended_ms is None or not rows.num_rows:
        return rows, kept, {}
    times = rows[feed.columns[feed.version]].to_pylist()
    ahead = np.array([is_ahead(at_ms or 0, int(appended_ms[index])) for at_ms, index in zip(times, kept, strict=True)])
    reason = f"not a {feed.message}: its {feed.version} is more than {MAX_AHEAD_MS // 60_000} minutes in the future"
    return rows.filter(pa.array(~ahead)), kept[~ahead], dict.fromkeys(kept[ahead].tolist(), reason)


def _table(feed: Feed, rows: pa.Table, partition: int, offsets: Offsets) -> pa.Table:
    # Empty columns are not sent, because ClickHouse fills in NULLs much faster.
    columns = {name: rows[source] for name, source in feed.columns.items() if rows[source].null_count < rows.num_rows}
    columns["kafka_partition"] = pa.array(np.full(rows.num_rows, partition, dtype=np.int32))
    columns["kafka_offset"] = pa.array(offsets)
    # One chunk is one block of the insert, and ClickHouse stores a block completely or not at all.
    return pa.table(columns).combine_chunks()


def _rejected(records: Records, index: int, reason: str) -> Rejected:
    return Rejected(int(records.offsets[index]), reason, records.values[index] or b"")
