"""Lines of one log to numbered records: nothing that a line says stops the lines behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson

from sparkfuse_collectors.facts.application import ApplicationFacts, LogRefused
from sparkfuse_collectors.facts.record import BULK, RESERVED, Encoder, News, Origin
from sparkfuse_collectors.logs.lines import Chunk, LineReader
from sparkfuse_contracts.generated.fact_pb2 import CollectorHealth

# What the contract promises of a record at most.
MOST_RECORD_BYTES = 256 * 1024
HEALTH_SECONDS = 30.0
_AGAIN_BYTES = 8 * 1024 * 1024
# What a value of the wrong type or size raises, in our code, in orjson's and in Protobuf's.
_BAD_EVENT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Shipper:
    """Who ships: the name that stays after a restart, and whose data it is; ``numbers`` are the next of each lane."""

    name: str
    cluster: str
    tenant: str
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def collector(self) -> str:
        """The name of the collector in facts."""
        return f"shipper-{self.name}"

    def going_on(self, numbers: Mapping[str, int]) -> Shipper:
        """The same, for a log whose facts were numbered up to there."""
        return replace(self, numbers=dict(numbers))


class BadEvent(ValueError):
    """A line is JSON, but not the event that it says it is."""


def parsed(facts: ApplicationFacts, name: str, line: bytes) -> list[News]:
    """The facts of one line; none for a line that is no such event. Raises LogRefused."""
    try:
        return _news(facts, name, line)
    except BadEvent:
        return []


def feed_again(facts: ApplicationFacts, reader: LineReader, until: int | None) -> bool:
    """Feed what was sent before, up to a plain offset or all of the file; whether a line begins there.

    Raises LogRefused, BrokenFile, OSError.
    """
    while until is None or reader.resume_at < until:
        most = _AGAIN_BYTES if until is None else min(_AGAIN_BYTES, until - reader.resume_at)
        chunk = reader.read(most, until)
        for name, line in chunk.events:
            parsed(facts, name, line)
        if chunk.at_end:
            break
    return until is None or reader.resume_at >= until


class Translation:
    """The records of one log. ``numbers`` are the next of each lane; a bad line takes one too, so that it is missed.

    ``malformed`` counts lines that were no events; ``torn`` says that something at the end of a file may lack.
    """

    __slots__ = ("_encoder", "_shipper", "_told_at", "facts", "malformed", "numbers", "torn")

    def __init__(self, shipper: Shipper, facts: ApplicationFacts | None = None) -> None:
        self.facts = facts or ApplicationFacts()
        self.numbers = {BULK: 0, RESERVED: 0, **shipper.numbers}
        self.malformed, self.torn = 0, False
        self._shipper = shipper
        self._told_at = 0.0
        self._encoder: Encoder | None = None

    def records(self, chunk: Chunk) -> list[bytes]:
        """The records that these lines make certain, in their order. Raises LogRefused."""
        records: list[bytes] = []
        if chunk.malformed:
            self.miss(chunk.malformed)
        for name, line in chunk.events:
            try:
                found = _news(self.facts, name, line)
            except BadEvent:
                self.miss(1)
                continue
            if found:
                records += self._numbered(found)
        return records

    def miss(self, count: int) -> None:
        """Something that should have been a fact could not be read."""
        self.malformed += count
        self.numbers[BULK] += count

    def health(self, now: float, behind_bytes: int, *, last: bool, news: bool) -> list[bytes]:
        """How the shipper stands with this log, now and then while there is news, and at the end."""
        if self.facts.identity is None or not (last or (news and now - self._told_at >= HEALTH_SECONDS)):
            return []
        self._told_at = now
        message = CollectorHealth(behind_bytes=behind_bytes, malformed_lines=self.malformed, torn=self.torn)
        at_ms = int(now * 1000)
        return self._numbered([News(BULK, at_ms, "collector_health", f"{self._shipper.collector}|{at_ms}", message)])

    def _numbered(self, found: list[News]) -> list[bytes]:
        encoder = self._encoder or self._begin()
        records = []
        for news in found:
            number = self.numbers[news.lane]
            self.numbers[news.lane] = number + 1
            record = encoder.record(news, number)
            if len(record) <= MOST_RECORD_BYTES:
                records.append(record)
            else:
                self.malformed += 1
        return records

    def _begin(self) -> Encoder:
        identity, shipper = self.facts.identity, self._shipper
        assert identity is not None
        origin = Origin(
            shipper.cluster, shipper.tenant, identity.app_id, identity.attempt, identity.start_ms, shipper.collector
        )
        self._encoder = Encoder(origin)
        return self._encoder


def _news(facts: ApplicationFacts, name: str, line: bytes) -> list[News]:
    try:
        return facts.feed(name, orjson.loads(line))
    except LogRefused:
        raise
    except _BAD_EVENT as error:
        raise BadEvent(f"{name}: {type(error).__name__}") from error
