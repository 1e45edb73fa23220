"""Streaming queries: starts, progress, ends."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from typing import Any

from sparkfuse_collectors.facts.record import BULK, RESERVED, News
from sparkfuse_contracts.generated.fact_pb2 import StreamingEnded, StreamingProgress, StreamingStarted
from sparkfuse_rules.knowledge.scrubbing import scrub, shortened

Event = Mapping[str, Any]
MOST_SOURCES = 64
MOST_SOURCE_CHARS = 512
MOST_NAME_CHARS = 256


def query_started(event: Event) -> News:
    """The fact of a QueryStartedEvent."""
    started_ms = moment(event["timestamp"])
    message = StreamingStarted(query_id=event["id"], run_id=event["runId"], name=_name(event), started_ms=started_ms)
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
    """The fact of a QueryProgressEvent, when its batch ended."""
    of = event["progress"]
    triggered_ms, took = moment(of["timestamp"]), of.get("durationMs") or {}
    sources, states = of.get("sources") or (), of.get("stateOperators") or ()
    watermark = (of.get("eventTime") or {}).get("watermark")
    message = StreamingProgress(
        query_id=of["id"],
        run_id=of["runId"],
        name=_name(of),
        batch_id=of["batchId"],
        triggered_ms=triggered_ms,
        batch_duration_ms=of.get("batchDuration", took.get("triggerExecution")),
        add_batch_ms=took.get("addBatch"),
        latest_offset_ms=took.get("latestOffset"),
        input_rows=_sum(sources, "numInputRows"),
        input_rows_per_second=_rate(of, sources, "inputRowsPerSecond"),
        processed_rows_per_second=_rate(of, sources, "processedRowsPerSecond"),
        state_rows=_sum(states, "numRowsTotal") if states else None,
        state_memory_bytes=_sum(states, "memoryUsedBytes") if states else None,
        dropped_by_watermark_rows=_sum(states, "numRowsDroppedByWatermark") if states else None,
        watermark_ms=moment(watermark) if watermark else None,
        source_lag_records=_lag(sources, "maxOffsetsBehindLatest"),
        source_lag_bytes=_lag(sources, "estimatedTotalBytesBehindLatest", "numBytesOutstanding"),
        sources=[scrub(shortened(str(each.get("description")), MOST_SOURCE_CHARS)) for each in sources[:MOST_SOURCES]],
    )
    own = f"{message.run_id}|{message.batch_id}|{triggered_ms}"
    return News(BULK, triggered_ms + message.batch_duration_ms, "streaming_progress", own, message)


def query_idle(event: Event) -> News:
    """The fact of a QueryIdleEvent (Spark 3.5 and later): the query waits and has no batch."""
    triggered_ms = moment(event["timestamp"])
    message = StreamingProgress(query_id=event["id"], run_id=event["runId"], triggered_ms=triggered_ms)
    return News(BULK, triggered_ms, "streaming_progress", f"{message.run_id}||{triggered_ms}", message)


def moment(text: str) -> int:
    """Milliseconds of a time as Spark's streaming writes it. Raises ValueError."""
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)


def _name(of: Event) -> str | None:
    name = of.get("name")
    return None if name is None else scrub(shortened(name, MOST_NAME_CHARS))


def _sum(rows: Iterable[Event], name: str) -> int:
    return sum(row.get(name) or 0 for row in rows)


def _rate(progress: Event, sources: Iterable[Event], name: str) -> float | None:
    """The whole query's rate, where the log has only those of its sources their sum; none that is not finite."""
    told = progress.get(name)
    parts = [each[name] for each in sources if each.get(name) is not None] if told is None else [told]
    rates = [float(each) for each in parts]
    return sum(rates) if rates and all(math.isfinite(rate) and rate >= 0 for rate in rates) else None


def _lag(sources: Iterable[Event], *names: str) -> int | None:
    """What sources tell of how far they are behind, as texts: of each the first of the names that it has."""
    found = []
    for each in sources:
        metrics = each.get("metrics") or {}
        found += [int(float(metrics[name])) for name in names if name in metrics][:1]
    return sum(found) if found else None
