"""The shipper's loop: scan the folders, read a part of each log that grew, send the facts in one transaction."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.lines import ReaderCache
from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.broker import Broker
from sparkfuse_collectors.ship.errors import StoppedError
from sparkfuse_collectors.ship.folders import Ages, Folders
from sparkfuse_collectors.ship.log_state import LogState
from sparkfuse_collectors.ship.metrics import COMPONENT, ShipMetrics
from sparkfuse_collectors.ship.tail import LogTail
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import record_key, to_json

SCAN_SECONDS = 2.0
# Bytes that are read of one log before the next log is read.
TURN_BYTES = 1024 * 1024
BATCH_BYTES = 8 * 1024 * 1024
BATCH_RECORDS = 20_000
BATCH_SECONDS = 1.0
# A file that cannot be read now is retried after this time.
RETRY_SECONDS = 10.0
# Pause between two checks for finished histories.
HISTORY_SECONDS = 0.1
_log = logging.getLogger("sparkfuse.ship")


class HistoryResult(Protocol):
    """The result of reading an ended log: its rows for the topic ``history``, or the reason why there are none."""

    @property
    def name(self) -> str:
        """The name with which the log was requested."""

    @property
    def app_id(self) -> str:
        """Spark's id of the application."""

    @property
    def rows(self) -> Sequence[bytes]:
        """Serialized HistoryRow messages."""

    @property
    def names(self) -> Sequence[bytes]:
        """Serialized DisplayName messages of the application's queries and stages."""

    @property
    def failure(self) -> str:
        """The reason in one sentence if the log could not be read, else empty."""

    @property
    def ended(self) -> bool:
        """Whether the log contains the end of the application."""

    @property
    def baselines_updated(self) -> bool:
        """Whether all training samples of the log, if there are any, are in the baselines."""


class HistoryReader(Protocol):
    """Reads ended logs in other processes, so that a huge log does not block the shipper."""

    def request(self, name: str, path: str) -> None:
        """Start to read the log at ``path``."""

    def results(self) -> Iterable[HistoryResult]:
        """Return the results that became ready since the last call."""


@dataclass(frozen=True)
class Pace:
    """How often folders are scanned, and the limits of one transaction."""

    scan_seconds: float = SCAN_SECONDS
    turn_bytes: int = TURN_BYTES
    batch_bytes: int = BATCH_BYTES
    batch_records: int = BATCH_RECORDS
    batch_seconds: float = BATCH_SECONDS


@dataclass
class ShippingLoop:
    """The state of a running shipper."""

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
        self._folders = Folders(self.files, self.shipper, self.positions, self.ages, self._report_problem)
        self._readers = ReaderCache()
        self._queue: deque[tuple[Files, LogTail]] = deque()
        self._retry_at: dict[str, float] = {}
        self._requested: dict[str, tuple[Files, LogTail]] = {}
        self._scan_at = 0.0

    def run(self, *, once: bool = False) -> None:
        """Ship until ``stop`` is set, or with ``once`` until everything was sent.

        Raises FencedError, BrokerLostError.
        """
        try:
            while not self.stop.is_set():
                if not self.turn():
                    if once and self.is_idle:
                        return
                    pause = HISTORY_SECONDS if self._requested else self.pace.scan_seconds
                    self.stop.wait(max(0.0, min(pause, self._scan_at - self.clock())))
        except StoppedError:
            _log.info("stopped before a batch was sent; the next start reads it again")

    def turn(self) -> bool:
        """Scan the folders if a scan is due, then send a transaction of new records; return whether there were any."""
        batch = Batch()
        if self.clock() >= self._scan_at:
            self._scan(batch)
        fact_count = self._fill(batch)
        self._add_histories(batch)
        if not batch:
            return False
        self.broker.send(batch)
        self.metrics.facts.inc(fact_count)
        return True

    # ---- scanning

    def _scan(self, batch: Batch) -> None:
        now = self.clock()
        started = time.perf_counter()
        for name in self._folders.scan(now):
            self._forget(name, batch)
        self.metrics.scan_seconds.observe(time.perf_counter() - started)
        self._scan_at = now + self.pace.scan_seconds
        queued = {tail.name for _, tail in self._queue}
        for files, tail in self._folders.tails():
            if tail.history_due:
                self._request_history(files, tail)
            elif tail.name not in queued and tail.wants_read(now) and now >= self._retry_at.get(tail.name, 0.0):
                self._queue.append((files, tail))
        self._update_gauges(now)

    def _update_gauges(self, now: float) -> None:
        for state, count in self._folders.states().items():
            self.metrics.logs.labels(state).set(count)
        tails = [tail for _, tail in self._folders.tails()]
        self.metrics.behind_bytes.set(sum(tail.behind_bytes for tail in tails))
        since = min((tail.behind_since for tail in tails if tail.behind_since), default=now)
        self.metrics.behind_seconds.set(now - since)

    @property
    def is_idle(self) -> bool:
        """Whether everything that the last scan found was read and sent."""
        now = self.clock()
        running = any(tail.history_due or tail.wants_read(now) for _, tail in self._folders.tails())
        return not self._queue and not self._requested and not running

    def _forget(self, name: str, batch: Batch) -> None:
        self._requested.pop(name, None)
        self._retry_at.pop(name, None)
        self._readers.take(name)
        key = record_key("positions", Position(shipper=self.shipper.name, log=name))
        batch.add("positions", key, None)

    # ---- reading

    def _fill(self, batch: Batch) -> int:
        """Read each log in turn until the batch is full; return the number of facts in the batch."""
        changed: dict[str, LogTail] = {}
        facts = 0
        until = time.monotonic() + self.pace.batch_seconds
        while self._queue and not self._is_full(batch) and time.monotonic() < until and not self.stop.is_set():
            files, tail = self._queue.popleft()
            before = tail.position()
            count, has_more = self._read(files, tail, batch)
            facts += count
            if _has_changed(before, tail.position()):
                changed[tail.name] = tail
            if has_more:
                self._queue.append((files, tail))
        for tail in changed.values():
            self._add_position(tail, batch)
        return facts

    def _is_full(self, batch: Batch) -> bool:
        return batch.size_bytes >= self.pace.batch_bytes or len(batch) >= self.pace.batch_records

    def _read(self, files: Files, tail: LogTail, batch: Batch) -> tuple[int, bool]:
        """Read a part of one log; return the number of facts in that part, and whether the log has more to read now."""
        now = self.clock()
        before = (tail.gaps, tail.rewritten, tail.state)
        try:
            read = tail.read(files, self._readers, self.pace.turn_bytes, now)
        except OSError as error:
            # The log was renamed after the scan, or the file system does not answer. The next scan finds the log again.
            if not isinstance(error, FileNotFoundError):
                self._report_problem("unreadable")
                self._retry_at[tail.name] = now + RETRY_SECONDS
                _log.debug("%s cannot be read now: %s", tail.name, error)
            return 0, False
        self._retry_at.pop(tail.name, None)
        key = tail.app_id.encode()
        for record in read.records:
            batch.add("facts", key, record)
        self.metrics.malformed.inc(read.malformed)
        self._report_changes(files, tail, before, batch)
        if tail.history_due:
            self._request_history(files, tail)
        return len(read.records), read.more

    def _report_changes(self, files: Files, tail: LogTail, before: tuple[int, int, LogState], batch: Batch) -> None:
        gaps, rewritten, state = before
        if tail.gaps > gaps:
            self._report_problem("gap")
            _log.warning("%s: a file was deleted or damaged before it was read", files.display_path(tail.name))
        if tail.rewritten > rewritten:
            self._report_problem("rewritten")
            _log.warning("%s now contains the log of another application", files.display_path(tail.name))
        if tail.is_quarantined and state is not tail.state:
            self._report_quarantine(files.display_path(tail.name), tail.reason, batch)

    def _report_quarantine(self, name: str, reason: str, batch: Batch) -> None:
        self._report_problem("quarantined")
        _log.warning("%s is quarantined: %s", name, reason)
        letter = DeadLetter(
            component=COMPONENT, reason=f"{name}: {reason}", payload=name.encode(), seen_ms=int(self.clock() * 1000)
        )
        batch.add("dead-letters", None, to_json(letter))

    def _add_position(self, tail: LogTail, batch: Batch) -> None:
        position = tail.position()
        if position is not None:
            batch.add("positions", record_key("positions", position), to_json(position))

    def _report_problem(self, kind: str) -> None:
        self.metrics.problems.labels(kind).inc()

    # ---- history

    def _request_history(self, files: Files, tail: LogTail) -> None:
        if tail.name not in self._requested and tail.found is not None:
            self._requested[tail.name] = (files, tail)
            self.histories.request(tail.name, files.display_path(tail.found.place))

    def _add_histories(self, batch: Batch) -> None:
        for result in self.histories.results():
            files, tail = self._requested.pop(result.name, (None, None))
            if files is None or tail is None or not tail.history_due:
                continue
            if result.failure and not _exists(files, tail):
                # The log was renamed, deleted or unmounted. The log's history stays due until the log is back.
                continue
            for row in result.rows:
                batch.add("history", result.app_id.encode(), row)
            for name in result.names:
                batch.add("names", result.app_id.encode(), name)
            self.metrics.history.inc(len(result.rows))
            tail.history_sent()
            if not result.baselines_updated:
                self._report_problem("baselines not updated")
            if result.failure:
                self._report_quarantine(result.name, result.failure, batch)
            self._add_position(tail, batch)


def _has_changed(before: Position | None, after: Position | None) -> bool:
    """Whether a position changed in any field except the time of its last change."""
    if before is not None and after is not None:
        before.updated_ms = after.updated_ms
    return before != after


def _exists(files: Files, tail: LogTail) -> bool:
    """Whether the files of a log that could not be read still exist."""
    try:
        return tail.found is not None and files.read(tail.found.parts[0].path, 0, 1) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True
