"""Sends the history of ended logs to the store and updates baselines; continues after an interruption."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sparkfuse_collectors.logs.files import Files, files_of
from sparkfuse_collectors.logs.find import FoundLog, find_logs
from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.broker import Broker
from sparkfuse_collectors.ship.log_state import LogState
from sparkfuse_collectors.ship.shipper import HistoryResult
from sparkfuse_contracts.generated.history_pb2 import HistoryRow
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_kernel.event_logs.file_systems import without_credentials
from sparkfuse_kernel.event_logs.log import UnreadableLogError

DEFAULT_NAME = "backfill"
DONE = LogState.RECORDED.stored_name
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 2.0
POLL_SECONDS = 0.05
# If a log without an end event changed within this time, its application counts as still running.
RUNNING_SECONDS = 3600.0
MAX_REASONS = 1000


class HistoryReader(Protocol):
    """Reads logs in the background."""

    @property
    def pending(self) -> int:
        """The number of requested logs whose result has not been returned yet."""

    @property
    def updated_stages(self) -> int:
        """The number of stages whose baseline changed."""

    def request(self, name: str, path: str) -> None:
        """Start to read the log at ``path``."""

    def results(self) -> Iterable[HistoryResult]:
        """Return the results that became ready since the last call."""


@dataclass
class Summary:
    """The number of logs by result, and one sentence for each of the first thousand skipped logs."""

    logs: int = 0
    sent: int = 0
    rows: int = 0
    without_end: int = 0
    updated_stages: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)

    def skip(self, kind: str, sentence: str) -> None:
        """Count one skipped log of this kind; ``sentence`` gives the reason."""
        self.skipped[kind] += 1
        if len(self.reasons) < MAX_REASONS:
            self.reasons.append(sentence)


@dataclass(frozen=True)
class Backfill:
    """One run of the command `sparkfuse backfill`.

    ``positions`` are the positions that earlier runs with the same name stored.
    """

    name: str
    broker: Broker
    reader: HistoryReader
    positions: Mapping[str, Position]
    stop: threading.Event
    again: bool = False
    progress: Callable[[Summary, int], None] = lambda _summary, _pending: None

    def run(self, places: Iterable[str]) -> Summary:
        """Send the history of all logs at these paths or URLs.

        Raises UnreadableLogError for a place that does not exist, StoppedError, FencedError, BrokerLostError.
        """
        summary = Summary()
        for place in places:
            self._request(place, summary)
        batch, started = Batch(), time.monotonic()
        while self.reader.pending and not self.stop.is_set():
            for result in self.reader.results():
                self._add(result, batch, summary)
            if batch and (batch.size_bytes >= BATCH_BYTES or time.monotonic() - started >= BATCH_SECONDS):
                self.broker.send(batch)
                batch, started = Batch(), time.monotonic()
            self.progress(summary, self.reader.pending)
            self.stop.wait(POLL_SECONDS)
        if batch:
            self.broker.send(batch)
        summary.updated_stages = self.reader.updated_stages
        return summary

    def _request(self, place: str, summary: Summary) -> None:
        for files, found in logs_at(place):
            summary.logs += 1
            path = files.display_path(found.place)
            position = self.positions.get(found.name)
            if position is not None and position.state == DONE and not self.again:
                summary.skip("already sent", f"{path}: already sent")
            elif found.closed is False and time.time() - found.modified_ms / 1000 < RUNNING_SECONDS:
                summary.skip("in progress", f"{path}: still being written")
            else:
                self.reader.request(found.name, path)

    def _add(self, result: HistoryResult, batch: Batch, summary: Summary) -> None:
        if result.failure:
            summary.skip("unreadable", result.failure)
            return
        for row in result.rows:
            batch.add("history", result.app_id.encode(), row)
        for name in result.names:
            batch.add("names", result.app_id.encode(), name)
        position = self._position(result)
        batch.add("positions", record_key("positions", position), to_json(position))
        summary.sent += 1
        summary.rows += len(result.rows)
        summary.without_end += not result.ended

    def _position(self, result: HistoryResult) -> Position:
        row = HistoryRow.FromString(result.rows[0])
        return Position(
            shipper=self.name,
            log=result.name,
            app_id=row.app_id,
            app_attempt=row.app_attempt,
            app_start_ms=row.app_start_ms,
            state=DONE,
            updated_ms=time.time_ns() // 1_000_000,
        )


def logs_at(place: str) -> Iterator[tuple[Files, FoundLog]]:
    """Yield the logs of a folder, a single file or a URL. Raises UnreadableLogError if no log is found."""
    place = place.removeprefix("file://")
    empty = True
    try:
        for files, found in _in_folder(place) if not Path(place).is_file() else _single(place):
            empty = False
            yield files, found
        if empty and "://" in place:  # the URL of a single object
            for files, found in _single(place):
                empty = False
                yield files, found
    except OSError as error:
        raise UnreadableLogError(f"{place}: cannot be read: {error}") from error
    if empty:
        raise UnreadableLogError(f"{without_credentials(place)}: contains no event log")


def _in_folder(place: str) -> Iterator[tuple[Files, FoundLog]]:
    files = files_of(place)
    for found in find_logs(files):
        yield files, found


def _single(place: str) -> Iterator[tuple[Files, FoundLog]]:
    path = place if "://" in place else str(Path(place).absolute())
    files = files_of(path.rpartition("/")[0])
    for found in find_logs(files):
        if files.display_path(found.place) == path:
            yield files, found
