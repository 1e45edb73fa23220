"""Seeds history from logs that ended: rows for the store, lessons for baselines; goes on where it was stopped."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sparkfuse.shipping.history import Made
from sparkfuse.shipping.learning import LearningHistories
from sparkfuse_collectors.logs.files import Files, files_of
from sparkfuse_collectors.logs.find import FoundLog, find_logs
from sparkfuse_collectors.ship.broker import Batch, Broker
from sparkfuse_collectors.ship.tail import DONE
from sparkfuse_contracts.generated.history_pb2 import HistoryRow
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_kernel.event_logs.file_systems import without_credentials
from sparkfuse_kernel.event_logs.log import UnreadableLogError

DEFAULT_NAME = "backfill"
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 2.0
LOOK_SECONDS = 0.05
# A log without an end that changed within this time is still being written.
RUNNING_SECONDS = 3600.0
MOST_REASONS = 1000


@dataclass
class Summary:
    """What became of the logs: counts, and a sentence for each that was skipped (the first thousand)."""

    logs: int = 0
    sent: int = 0
    rows: int = 0
    without_end: int = 0
    stages_learned: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)

    def skip(self, kind: str, sentence: str) -> None:
        """One log more that was passed over."""
        self.skipped[kind] += 1
        if len(self.reasons) < MOST_REASONS:
            self.reasons.append(sentence)


@dataclass(frozen=True)
class Backfill:
    """Everything that a backfill needs. ``positions`` are those of earlier runs under its name."""

    name: str
    broker: Broker
    histories: LearningHistories
    positions: Mapping[str, Position]
    stop: threading.Event
    again: bool = False
    progress: Callable[[Summary, int], None] = lambda _summary, _open: None

    def run(self, places: Iterable[str]) -> Summary:
        """Send the history of all logs behind these paths or URLs.

        Raises UnreadableLogError for a place that is not there, Stopped, Fenced, BrokerLost.
        """
        summary = Summary()
        for place in places:
            self._ask(place, summary)
        batch, began = Batch(), time.monotonic()
        while self.histories.open and not self.stop.is_set():
            for made in self.histories.ready():
                self._take(made, batch, summary)
            if batch and (batch.size_bytes >= BATCH_BYTES or time.monotonic() - began >= BATCH_SECONDS):
                self.broker.send(batch)
                batch, began = Batch(), time.monotonic()
            self.progress(summary, self.histories.open)
            self.stop.wait(LOOK_SECONDS)
        if batch:
            self.broker.send(batch)
        summary.stages_learned = self.histories.learned
        return summary

    def _ask(self, place: str, summary: Summary) -> None:
        for files, found in logs_behind(place):
            summary.logs += 1
            shown = files.shown(found.place)
            known = self.positions.get(found.name)
            if known is not None and known.state == DONE and not self.again:
                summary.skip("already sent", f"{shown}: it was sent before")
            elif found.closed is False and time.time() - found.modified_ms / 1000 < RUNNING_SECONDS:
                summary.skip("in progress", f"{shown}: it is still being written")
            else:
                self.histories.ask(found.name, shown)

    def _take(self, made: Made, batch: Batch, summary: Summary) -> None:
        if made.failure:
            summary.skip("unreadable", made.failure)
            return
        for row in made.rows:
            batch.add("history", made.app_id.encode(), row)
        position = self._done(made)
        batch.add("positions", record_key("positions", position), to_json(position))
        summary.sent += 1
        summary.rows += len(made.rows)
        summary.without_end += not made.ended

    def _done(self, made: Made) -> Position:
        row = HistoryRow.FromString(made.rows[0])
        return Position(
            shipper=self.name,
            log=made.name,
            app_id=row.app_id,
            app_attempt=row.app_attempt,
            app_start_ms=row.app_start_ms,
            state=DONE,
            updated_ms=time.time_ns() // 1_000_000,
        )


def logs_behind(place: str) -> Iterator[tuple[Files, FoundLog]]:
    """The logs behind a folder, a single file or a URL. Raises UnreadableLogError when there is none."""
    place = place.removeprefix("file://")
    none = True
    try:
        for files, found in _in_folder(place) if not Path(place).is_file() else _in_parent(place):
            none = False
            yield files, found
        if none and "://" in place:  # a single object
            for files, found in _in_parent(place):
                none = False
                yield files, found
    except OSError as error:
        raise UnreadableLogError(f"{place}: cannot be read: {error}") from error
    if none:
        raise UnreadableLogError(f"{without_credentials(place)}: there is no event log")


def _in_folder(place: str) -> Iterator[tuple[Files, FoundLog]]:
    files = files_of(place)
    for found in find_logs(files):
        yield files, found


def _in_parent(place: str) -> Iterator[tuple[Files, FoundLog]]:
    whole = place if "://" in place else str(Path(place).absolute())
    files = files_of(whole.rpartition("/")[0])
    for found in find_logs(files):
        if files.shown(found.place) == whole:
            yield files, found
