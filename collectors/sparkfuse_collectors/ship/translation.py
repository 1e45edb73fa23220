"""Translates the events of one log into numbered records; a malformed event does not stop the events after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sparkfuse_collectors.logs.lines import Chunk, LineReader
from sparkfuse_collectors.ship.redaction import Redaction
from sparkfuse_kernel import INFREQUENT_EVENTS, TASK_EVENTS, FactTranslator

BULK = "bulk"
RESERVED = "reserved"
EVENTS = (*TASK_EVENTS, *INFREQUENT_EVENTS)
HEALTH_SECONDS = 30.0
_REPLAY_BYTES = 8 * 1024 * 1024


class Identity(NamedTuple):
    """The run of an application: Spark's id, the number of the attempt (0 if it has none), and the start in ms."""

    app_id: str
    attempt: int
    start_ms: int


@dataclass(frozen=True)
class Shipper:
    """The shipper's stable name, the owner of the data, and the next sequence number of each lane."""

    name: str
    cluster: str
    tenant: str
    next_seq: Mapping[str, int] = field(default_factory=dict)

    @property
    def collector(self) -> str:
        """The name of the collector in facts."""
        return f"shipper-{self.name}"

    def with_next_seq(self, next_seq: Mapping[str, int]) -> Shipper:
        """Return a copy of the shipper with these sequence numbers."""
        return replace(self, next_seq=dict(next_seq))


class Translation:
    """The translation of one log into records.

    ``torn`` is True if the end of the log may be missing.
    """

    __slots__ = ("_reported_at", "_translator", "torn")

    def __init__(self, shipper: Shipper) -> None:
        numbers = (shipper.next_seq.get(BULK, 0), shipper.next_seq.get(RESERVED, 0))
        self._translator = FactTranslator(
            Redaction(),
            cluster=shipper.cluster,
            tenant=shipper.tenant,
            collector=shipper.collector,
            next_seq=numbers,
        )
        self.torn = False
        self._reported_at = 0.0

    @property
    def identity(self) -> Identity | None:
        """The run of the application, None until it is known."""
        identity = self._translator.identity
        return None if identity is None else Identity(*identity)

    @property
    def has_plugin(self) -> bool:
        """Whether the plugin sends the facts of the application, so that the shipper must not send them."""
        return self._translator.has_plugin

    @property
    def has_ended(self) -> bool:
        """Whether the log contains the end of the application."""
        return self._translator.ended_ms is not None

    @property
    def malformed(self) -> int:
        """The number of malformed lines, malformed events and facts above the size limit so far."""
        return self._translator.malformed

    @property
    def next_seq(self) -> dict[str, int]:
        """The next sequence number of each lane."""
        bulk, reserved = self._translator.next_seq
        return {BULK: bulk, RESERVED: reserved}

    @next_seq.setter
    def next_seq(self, numbers: Mapping[str, int]) -> None:
        self._translator.next_seq = (numbers[BULK], numbers[RESERVED])

    def records(self, chunk: Chunk) -> list[bytes]:
        """Return the records that these lines complete, in order. Raises NoApplicationError."""
        if chunk.malformed:
            self._translator.count_malformed(chunk.malformed)
        return self._translator.translate(chunk.events)

    def replay(self, reader: LineReader, until: int | None) -> bool:
        """Update the translator with events whose facts were already sent, up to ``until`` or the end of the file.

        ``until`` is an offset in decompressed bytes. Returns whether a line begins at this offset. Raises
        NoApplicationError, BrokenFileError, OSError.
        """
        while until is None or reader.resume_at < until:
            size = _REPLAY_BYTES if until is None else min(_REPLAY_BYTES, until - reader.resume_at)
            chunk = reader.read(size, until)
            self._translator.replay(chunk.events)
            if chunk.at_end:
                break
        return until is None or reader.resume_at >= until

    def resume_as(self, identity: Identity) -> None:
        """Continue in the middle of a log whose beginning no longer exists."""
        self._translator.resume_as(*identity)

    def add_gap(self) -> None:
        """Skip one sequence number, because events that should have become facts were lost."""
        self._translator.count_malformed(1)

    def health(self, now: float, behind_bytes: int, *, is_last: bool, has_records: bool) -> list[bytes]:
        """Return a health fact: at most every 30 seconds while the log yields records, and one at its end."""
        is_due = has_records and now - self._reported_at >= HEALTH_SECONDS
        if self.identity is None or not (is_last or is_due):
            return []
        self._reported_at = now
        return self._translator.health(int(now * 1000), behind_bytes, torn=self.torn)
