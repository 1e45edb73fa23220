"""The record of a fact: envelope, event id, Protobuf bytes."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sparkfuse_contracts.generated.fact_pb2 import Fact

BULK = "bulk"
RESERVED = "reserved"
ID_BYTES = 16


class News(NamedTuple):
    """A fact that is still to be numbered: its lane, time, kind, what makes it one of its kind, and its message."""

    lane: str
    at_ms: int
    kind: str
    own: str
    message: Any


@dataclass(frozen=True)
class Origin:
    """Which run of which application the facts of a log are of, and who sends them. Times are ms since the epoch."""

    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    collector: str


class Encoder:
    """Makes records of one origin."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._place = f"{origin.cluster}|{origin.app_id}|{origin.app_start_ms}|{origin.app_attempt}|"
        # Fields may come in any order: what is the same in all records is encoded once.
        self._common = Fact(
            cluster=origin.cluster,
            tenant=origin.tenant,
            app_id=origin.app_id,
            app_attempt=origin.app_attempt,
            app_start_ms=origin.app_start_ms,
            collector=origin.collector,
        ).SerializeToString()

    def event_id(self, kind: str, own: str) -> bytes:
        """The id of docs/plugin.md, "Event ids": the same for whoever saw the event."""
        return sha256(f"{self._place}{kind}|{own}".encode()).digest()[:ID_BYTES]

    def record(self, news: News, seq: int) -> bytes:
        """The Fact as it travels. Raises TypeError or ValueError when a value does not fit its field."""
        kind: dict[str, Any] = {news.kind: news.message}
        own = Fact(
            event_id=self.event_id(news.kind, news.own), event_time_ms=news.at_ms, lane=news.lane, seq=seq, **kind
        )
        return own.SerializeToString() + self._common


def whole_number(value: Any) -> int | None:
    """A whole number, also where Spark's log has it as a text; None for users' accumulators, which hold anything."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
