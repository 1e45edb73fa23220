"""The shipper's work: look, read a little of each log that grew, send all of it in one transaction, over and over."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.lines import OpenReaders
from sparkfuse_collectors.ship.broker import Batch, Broker, Stopped
from sparkfuse_collectors.ship.folders import Ages, Folders
from sparkfuse_collectors.ship.metrics import COMPONENT, ShipMetrics
from sparkfuse_collectors.ship.tail import SET_ASIDE, LogTail
from sparkfuse_collectors.ship.translate import Shipper
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import record_key, to_json

LOOK_SECONDS = 2.0
# What is read of one log before the next one has its turn.
TURN_BYTES = 1024 * 1024
BATCH_BYTES = 8 * 1024 * 1024
BATCH_RECORDS = 20_000
BATCH_SECONDS = 1.0
# A file that cannot be read now is tried again after this.
RETRY_SECONDS = 10.0
# How long a history that is being made elsewhere may lie ready.
HISTORY_SECONDS = 0.1
_log = logging.getLogger("sparkfuse.ship")


class HistoryResult(Protocol):
    """The result of reading an ended log: its rows for the topic ``history``, or the reason why there are none."""

    @property
    def name(self) -> str:
        """The name with which it was requested."""

    @property
    def app_id(self) -> str:
        """Spark's id of the application."""

    @property
    def rows(self) -> Sequence[bytes]:
        """Serialized HistoryRow messages."""

    @property
    def failure(self) -> str:
        """One sentence if the log could not be read, else empty."""

    @property
    def ended(self) -> bool:
        """Whether the log has the end of the application."""

    @property
    def baselines_updated(self) -> bool:
        """Whether its training samples, if it has any, are in the baselines."""


class HistoryReader(Protocol):
    """Reads ended logs in other processes, so that a huge log does not block the shipper."""

    def request(self, name: str, path: str) -> None:
        """Start to read the log at ``path``."""

    def results(self) -> Iterable[HistoryResult]:
        """Return the results that are ready, each once."""


@dataclass(frozen=True)
class Pace:
    """How often folders are looked through, and how much goes into one transaction."""

    look_seconds: float = LOOK_SECONDS
    turn_bytes: int = TURN_BYTES
    batch_bytes: int = BATCH_BYTES
    batch_records: int = BATCH_RECORDS
    batch_seconds: float = BATCH_SECONDS


@dataclass
class Work:
    """Everything that shipping needs."""

    files: list[Files]
    shipper: Shipper
    broker: Broker
    metrics: ShipMetrics
    stop: threading.Event
    positions: dict[str, Position]
    histories: HistoryReader
    ages: Ages = field(default_factory=Ages)
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._folders = Folders(self.files, self.shipper, self.positions, self.ages, self._trouble)
        self._readers = OpenReaders()
        self._waiting: deque[tuple[Files, LogTail]] = deque()
        self._retry_at: dict[str, float] = {}
        self._asked: dict[str, tuple[Files, LogTail]] = {}
        self._look_at = 0.0

    def run(self, *, once: bool = False) -> None:
        """Ship until ``stop`` is set, or with ``once`` until all was sent that is there. Raises Fenced, BrokerLost."""
        try:
            while not self.stop.is_set():
                if not self.turn():
                    if once and self.is_idle:
                        return
                    most = HISTORY_SECONDS if self._asked else self.pace.look_seconds
                    self.stop.wait(max(0.0, min(most, self._look_at - self.clock())))
        except Stopped:
            _log.info("stopped with a batch that was not sent; it is read again")

    def turn(self) -> bool:
        """One look when it is time, one transaction when there is something to send; whether there was."""
        batch = Batch()
        if self.clock() >= self._look_at:
            self._look(batch)
        counts = self._fill(batch)
        self._take_histories(batch)
        if not batch:
            return False
        self.broker.send(batch)
        self.metrics.facts.inc(counts)
        return True

    # ---- looking

    def _look(self, batch: Batch) -> None:
        now = self.clock()
        began = time.perf_counter()
        for name in self._folders.look(now):
            self._forget(name, batch)
        self.metrics.scan_seconds.observe(time.perf_counter() - began)
        self._look_at = now + self.pace.look_seconds
        waiting = {tail.name for _, tail in self._waiting}
        for files, tail in self._folders.tails():
            if tail.history_due:
                self._ask(files, tail)
            elif tail.name not in waiting and tail.wants_read(now) and now >= self._retry_at.get(tail.name, 0.0):
                self._waiting.append((files, tail))
        self._tell(now)

    def _tell(self, now: float) -> None:
        for state, count in self._folders.states().items():
            self.metrics.logs.labels(state).set(count)
        tails = [tail for _, tail in self._folders.tails()]
        self.metrics.behind_bytes.set(sum(tail.behind_bytes for tail in tails))
        since = min((tail.behind_since for tail in tails if tail.behind_since), default=now)
        self.metrics.behind_seconds.set(now - since)

    @property
    def is_idle(self) -> bool:
        """Whether all that was there at the last look was read, and nothing is waited for."""
        now = self.clock()
        running = any(tail.history_due or tail.wants_read(now) for _, tail in self._folders.tails())
        return not self._waiting and not self._asked and not running

    def _forget(self, name: str, batch: Batch) -> None:
        self._asked.pop(name, None)
        self._retry_at.pop(name, None)
        self._readers.take(name)
        key = record_key("positions", Position(shipper=self.shipper.name, log=name))
        batch.add("positions", key, None)

    # ---- reading

    def _fill(self, batch: Batch) -> int:
        """Give each log its turn until the batch is full; how many facts it holds."""
        changed: dict[str, LogTail] = {}
        facts = 0
        until = time.monotonic() + self.pace.batch_seconds
        while self._waiting and not self._is_full(batch) and time.monotonic() < until and not self.stop.is_set():
            files, tail = self._waiting.popleft()
            before = tail.position()
            more = self._read(files, tail, batch)
            facts += more[0]
            if _says_more(before, tail.position()):
                changed[tail.name] = tail
            if more[1]:
                self._waiting.append((files, tail))
        for tail in changed.values():
            self._put_position(tail, batch)
        return facts

    def _is_full(self, batch: Batch) -> bool:
        return batch.size_bytes >= self.pace.batch_bytes or len(batch) >= self.pace.batch_records

    def _read(self, files: Files, tail: LogTail, batch: Batch) -> tuple[int, bool]:
        now = self.clock()
        counted = (tail.gaps, tail.rewritten, tail.state)
        try:
            read = tail.read(files, self._readers, self.pace.turn_bytes, now)
        except OSError as error:
            # Renamed between look and read, or a place that does not answer: the next look tells.
            if not isinstance(error, FileNotFoundError):
                self._trouble("unreadable")
                self._retry_at[tail.name] = now + RETRY_SECONDS
                _log.debug("%s cannot be read now: %s", tail.name, error)
            return 0, False
        self._retry_at.pop(tail.name, None)
        key = tail.app_id.encode()
        for record in read.records:
            batch.add("facts", key, record)
        self.metrics.malformed.inc(read.malformed)
        self._tell_troubles(files, tail, counted, batch)
        if tail.history_due:
            self._ask(files, tail)
        return len(read.records), read.more

    def _tell_troubles(self, files: Files, tail: LogTail, before: tuple[int, int, str], batch: Batch) -> None:
        gaps, rewritten, state = before
        if tail.gaps > gaps:
            self._trouble("gap")
            _log.warning("%s: a file is gone or broken before it was read", files.shown(tail.name))
        if tail.rewritten > rewritten:
            self._trouble("rewritten")
            _log.warning("%s is the log of another application now", files.shown(tail.name))
        if tail.state == SET_ASIDE != state:
            self._set_aside(files.shown(tail.name), tail.reason, batch)

    def _set_aside(self, name: str, reason: str, batch: Batch) -> None:
        self._trouble("set aside")
        _log.warning("%s is set aside: %s", name, reason)
        letter = DeadLetter(
            component=COMPONENT, reason=f"{name}: {reason}", payload=name.encode(), seen_ms=int(self.clock() * 1000)
        )
        batch.add("dead-letters", None, to_json(letter))

    def _put_position(self, tail: LogTail, batch: Batch) -> None:
        position = tail.position()
        if position is not None:
            batch.add("positions", record_key("positions", position), to_json(position))

    def _trouble(self, kind: str) -> None:
        self.metrics.troubles.labels(kind).inc()

    # ---- history

    def _ask(self, files: Files, tail: LogTail) -> None:
        if tail.name not in self._asked and tail.found is not None:
            self._asked[tail.name] = (files, tail)
            self.histories.request(tail.name, files.shown(tail.found.place))

    def _take_histories(self, batch: Batch) -> None:
        for made in self.histories.results():
            files, tail = self._asked.pop(made.name, (None, None))
            if files is None or tail is None or not tail.history_due:
                continue
            if made.failure and not _lies_there(files, tail):
                continue  # renamed, deleted, or a mount that is away: still due, and asked for when it is seen again
            for row in made.rows:
                batch.add("history", made.app_id.encode(), row)
            self.metrics.history.inc(len(made.rows))
            tail.history_sent()
            if not made.baselines_updated:
                self._trouble("not taught")
            if made.failure:
                self._set_aside(made.name, made.failure, batch)
            self._put_position(tail, batch)


def _says_more(before: Position | None, after: Position | None) -> bool:
    """Whether a position is news: its time is that of the last news, by which a log that stands still is known."""
    if before is not None and after is not None:
        before.updated_ms = after.updated_ms
    return before != after


def _lies_there(files: Files, tail: LogTail) -> bool:
    """Whether a log that could not be read is at least where it was seen."""
    try:
        return tail.found is not None and files.read(tail.found.parts[0].path, 0, 1) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True
