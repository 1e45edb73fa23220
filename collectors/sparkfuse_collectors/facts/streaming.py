"""Streaming queries: starts, progress, ends."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from sparkfuse_collectors.facts.record import BULK, RESERVED, News
from sparkfuse_contracts.generated.fact_pb2 import StreamingEnded, StreamingProgress, StreamingStarted
from sparkfuse_rules.knowledge.scrubbing import scrub

Event = Mapping[str, Any]
MOST_SOURCES = 16


def query_started(event: Event) -> News:
    """The fact of a QueryStartedEvent."""
    started_ms = moment(event["timestamp"])
    message = StreamingStarted(
        query_id=event["id"], run_id=event["runId"], name=event.get("name"), started_ms=started_ms
    )
    return News(RESERVED, started_ms, "streaming_started", message.run_id, message)


def query_ended(event: Event, at_ms: int) -> News:
    """The fact of a QueryTerminatedEvent, which has no time of its own: ``at_ms`` is the last that the log told."""
    failure = event.get("exception")
    message = StreamingEnded(
        query_id=event["id"],
        run_id=event["runId"],
        ended_ms=at_ms,
        failure_reason=None if failure is None else scrub(failure),
    )
    return News(RESERVED, at_ms, "streaming_ended", message.run_id, message)


def query_progressed(event: Event) -> News:
    """The fact of a QueryProgressEvent."""
    of = event["progress"]
    triggered_ms, took = moment(of["timestamp"]), of.get("durationMs") or {}
    sources, states = of.get("sources") or (), of.get("stateOperators") or ()
    watermark = (of.get("eventTime") or {}).get("watermark")
    message = StreamingProgress(
        query_id=of["id"],
        run_id=of["runId"],
        name=of.get("name"),
        batch_id=of["batchId"],
        triggered_ms=triggered_ms,
        batch_duration_ms=of.get("batchDuration", took.get("triggerExecution")),
        add_batch_ms=took.get("addBatch"),
        latest_offset_ms=took.get("latestOffset"),
        input_rows=_sum(sources, "numInputRows"),
        input_rows_per_second=_rate(sources, "inputRowsPerSecond"),
        processed_rows_per_second=_rate(sources, "processedRowsPerSecond"),
        state_rows=_sum(states, "numRowsTotal"),
        state_memory_bytes=_sum(states, "memoryUsedBytes"),
        dropped_by_watermark_rows=_sum(states, "numRowsDroppedByWatermark"),
        watermark_ms=moment(watermark) if watermark else None,
        source_lag_records=_lag(sources, "maxOffsetsBehindLatest", "avgOffsetsBehindLatest"),
        source_lag_bytes=_lag(sources, "estimatedTotalBytesBehindLatest"),
        sources=[source_name(each.get("description")) for each in sources[:MOST_SOURCES]],
    )
    own = f"{message.run_id}|{message.batch_id}|{triggered_ms}"
    return News(BULK, triggered_ms, "streaming_progress", own, message)


def moment(text: str) -> int:
    """Milliseconds of a time as Spark's streaming writes it. Raises ValueError."""
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)


def source_name(description: str | None) -> str:
    """The source without its options, which may hold addresses and secrets."""
    return scrub((description or "").split("[", 1)[0].strip())


def _sum(rows: Iterable[Event], name: str) -> int | None:
    found = [row[name] for row in rows if row.get(name) is not None]
    return sum(found) if found else None


def _rate(rows: Iterable[Event], name: str) -> float | None:
    """Spark writes no rate that is not finite."""
    found = [float(row[name]) for row in rows if row.get(name) is not None]
    return sum(found) if found else None


def _lag(sources: Iterable[Event], *names: str) -> int | None:
    """What sources tell of themselves, as texts; the first of the names that they have."""
    for name in names:
        found = [metrics[name] for each in sources if name in (metrics := each.get("metrics") or {})]
        if found:
            return round(sum(float(value) for value in found))
    return None
