"""Encodes facts in Python for generated load; the product encodes facts in the kernel and in the plugin."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sparkfuse_contracts.generated.fact_pb2 import Fact

BULK = "bulk"
RESERVED = "reserved"
ID_BYTES = 16


class PendingFact(NamedTuple):
    """A fact without its sequence number; ``key`` identifies it among the facts of its kind."""

    lane: str
    at_ms: int
    kind: str
    key: str
    message: Any


@dataclass(frozen=True)
class Origin:
    """The application run and the collector of a fact; times are ms since the epoch."""

    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    collector: str


class Encoder:
    """Encodes the facts of one origin."""

    def __init__(self, origin: Origin) -> None:
        self._id_prefix = f"{origin.cluster}|{origin.app_id}|{origin.app_start_ms}|{origin.app_attempt}|"
        # The fields that are equal in all records, encoded once; fields may have any order.
        self._common = Fact(
            cluster=origin.cluster,
            tenant=origin.tenant,
            app_id=origin.app_id,
            app_attempt=origin.app_attempt,
            app_start_ms=origin.app_start_ms,
            collector=origin.collector,
        ).SerializeToString()

    def event_id(self, kind: str, key: str) -> bytes:
        """Return the id that docs/plugin.md defines under "Event ids"."""
        return sha256(f"{self._id_prefix}{kind}|{key}".encode()).digest()[:ID_BYTES]

    def record(self, fact: PendingFact, seq: int) -> bytes:
        """Return the encoded Fact."""
        kind: dict[str, Any] = {fact.kind: fact.message}
        own = Fact(
            event_id=self.event_id(fact.kind, fact.key), event_time_ms=fact.at_ms, lane=fact.lane, seq=seq, **kind
        )
        return own.SerializeToString() + self._common
