"""One followed log: how far it was read, what to read next, and the records of its facts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, Part
from sparkfuse_collectors.logs.lines import Chunk, LineReader, ReaderCache
from sparkfuse_collectors.logs.plain import BrokenFileError
from sparkfuse_collectors.ship.dormant_log import DormantLog, end_of
from sparkfuse_collectors.ship.liveness import Liveness, is_closed
from sparkfuse_collectors.ship.log_content import LogContent, ReplayResult, numbers_of
from sparkfuse_collectors.ship.log_state import (
    FINISHED,
    READING,
    UNFINISHED,
    LogEvent,
    LogState,
    next_state,
    restored_state,
)
from sparkfuse_collectors.ship.translation import EVENTS, Identity, Shipper
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_kernel import INFREQUENT_EVENTS, NoApplicationError


@dataclass
class ReadResult:
    """The records of facts that were read, the number of malformed lines, and whether the log has more to read now."""

    records: list[bytes] = field(default_factory=list)
    malformed: int = 0
    more: bool = False


class LogTail:
    """Follows one log.

    ``name`` stays the same when the log is renamed. ``reason`` explains why the log is quarantined. ``gaps`` is the
    number of files that were lost before they were read. ``rewritten`` is the number of times that another
    application's log got this name. ``behind_since`` is when a part of the log became unread, in seconds since 1970; 0
    if nothing is unread. ``abandoned`` is the time in seconds without a change after which the writer counts as dead.
    """

    __slots__ = (
        "_content", "_dormant", "_liveness", "behind_since", "found", "gaps", "name", "reason", "rewritten", "state",
    )  # fmt: skip

    def __init__(
        self, name: str, shipper: Shipper, position: Position | None = None, abandoned: float = math.inf
    ) -> None:
        self.name = name
        self._liveness = Liveness(abandoned, position.updated_ms / 1000 if position is not None else 0.0)
        self.found: FoundLog | None = None
        self.rewritten = self.gaps = 0
        self.behind_since = 0.0
        self.state = LogState.LIVE
        self._reset(shipper)
        if position is not None:
            self._restore(position)

    def _reset(self, shipper: Shipper) -> None:
        self._change(LogEvent.RESET)
        self.reason = ""
        self._content = LogContent(shipper)
        self._dormant: DormantLog | None = None

    def _restore(self, position: Position) -> None:
        """Continue where an earlier shipper stopped."""
        self.state = restored_state(position.state, has_sent_facts=any(numbers_of(position).values()))
        if self.state is LogState.QUARANTINED:
            self.reason = "it was quarantined before the restart"
        if self.state in FINISHED:
            # The position does not show whether the end of the log was read.
            self._dormant = DormantLog(position.updated_ms)
        self._content.restore(position)

    def _change(self, event: LogEvent) -> None:
        self.state = next_state(self.state, event)

    # ---- listings of the folder

    def observe(self, found: FoundLog, now: float) -> None:
        """Compare the log with the current listing of its folder."""
        self._liveness.observe(self.found, found, now)
        self.found = found
        cursor = self._content.cursor
        part = cursor.part(found)
        if part is not None and cursor.is_replaced(part):
            # The file was renamed by copying, rotated or truncated, or it is another application's log. A comparison of
            # the content shows which of these cases applies.
            cursor.compare_again(part)
            self._forget_content()
        elif part is not None and self._was_incomplete_copy(part):
            self._reset(self._content.shipper)
        if self.state in FINISHED and self._dormant is not None and self._dormant.has_grown(found):
            self._change(LogEvent.GREW)
            self._dormant = None
            self._content.resume()
        if not self.wants_read(now):
            self.behind_since = 0.0
        elif not self.behind_since:
            self.behind_since = now

    def _was_incomplete_copy(self, part: Part) -> bool:
        """Whether a file that was not recognised as a log has grown; if so, it was still being copied."""
        return self.is_quarantined and self.identity is None and self._content.cursor.has_grown(part)

    def suspend(self) -> None:
        """Keep the position of a log that is absent.

        When the log is back, its content is compared with what was read before.
        """
        if self.state in UNFINISHED:
            self._forget_content()
        self.behind_since = 0.0

    def _forget_content(self) -> None:
        """Free the translation, so that the log is read again and compared with what was read before."""
        self._content.forget()
        self._change(LogEvent.FILE_REPLACED)

    def wants_read(self, now: float) -> bool:
        """Whether a part of the log has not been read yet."""
        if self.found is None:
            return False
        cursor = self._content.cursor
        if self.state in FINISHED:
            return self._content.needs_replay and bool(cursor.identity)
        if self.state not in READING:
            return False
        part = cursor.part(self.found)
        return (
            part is None
            or self._content.needs_replay
            or part.size_bytes > cursor.packed_bytes
            or cursor.next_part(self.found) is not None
            or self._liveness.is_settled(self.found, now)
        )

    @property
    def history_due(self) -> bool:
        """Whether the log ended and its history must be sent."""
        return self.state is LogState.HISTORY_DUE

    @property
    def is_finished(self) -> bool:
        """Whether the log ended and was sent."""
        return self.state in FINISHED

    @property
    def is_quarantined(self) -> bool:
        """Whether the log cannot be read."""
        return self.state is LogState.QUARANTINED

    @property
    def behind_bytes(self) -> int:
        """The number of stored bytes of the log's files that have not been read yet."""
        if self.found is None or self.state not in UNFINISHED:
            return 0
        cursor = self._content.cursor
        sizes = (part.size_bytes for part in self.found.parts if part.number >= cursor.number)
        return max(0, sum(sizes) - cursor.packed_bytes)

    @property
    def identity(self) -> Identity | None:
        """The run of the application, None while it is unknown."""
        return self._content.identity

    @property
    def app_id(self) -> str:
        """Spark's id of the application, empty while it is unknown."""
        return self.identity.app_id if self.identity else ""

    def send_only_history(self) -> None:
        """Send no facts, because the log had ended before the shipper saw it."""
        self._change(LogEvent.FOUND_ENDED)
        self._content.discard()
        if self.found is not None and not is_closed(self.found):
            self._dormant = DormantLog(end=end_of(self.found))

    def history_sent(self) -> None:
        """Finish the log after its history was sent."""
        self._change(LogEvent.HISTORY_SENT)
        self._content.release()

    # ---- reading

    def read(self, files: Files, readers: ReaderCache, max_bytes: int, now: float) -> ReadResult:
        """Read about ``max_bytes`` of the log. Raises OSError if it cannot be read now.

        If the content of the log is invalid, the log is quarantined with a reason, and no error is raised.
        """
        result = ReadResult()
        try:
            if self._content.needs_replay and not self._replay(files):
                return result
            if self.state in READING:
                self._read_on(files, readers, max_bytes, now, result)
        except (NoApplicationError, BrokenFileError) as error:
            self._quarantine(str(error))
        self._add_health(result, now)
        if self.state not in UNFINISHED:
            self._content.release()
        if not self.wants_read(now):
            # Without this reset, a log that grows between any two scans would always be reported as behind.
            self.behind_since = 0.0
        return result

    def _replay(self, files: Files) -> bool:
        """Read the log again up to the cursor; return False while that is not possible."""
        assert self.found is not None
        replayed = self._content.replay(files, self.found, may_be_shorter=self.state in FINISHED)
        if replayed is ReplayResult.OTHER_RUN:
            self.rewritten += 1
            self._reset(self._content.shipper.with_next_seq({}))
        return replayed is not ReplayResult.UNKNOWN

    def _read_on(self, files: Files, readers: ReaderCache, max_bytes: int, now: float, result: ReadResult) -> None:
        self._content.start()
        part = self._content.cursor.part(self.found) or self._skip_lost_file()
        if part is None:
            return
        events = INFREQUENT_EVENTS if self.state is LogState.WATCHED else EVENTS
        reader = self._content.reader(files, readers, self.name, part, events)
        chunk = self._read_chunk(files, reader, part, max_bytes, now)
        self._translate(chunk, result)
        result.more = not chunk.at_end
        if chunk.at_end:
            self._end_file(reader, result, now)
        self._content.keep_reader(readers, self.name, part, reader)

    def _read_chunk(self, files: Files, reader: LineReader, part: Part, max_bytes: int, now: float) -> Chunk:
        try:
            chunk = reader.read(max_bytes)
        except BrokenFileError:
            if self._content.cursor.next_part(self.found) is None:
                raise
            self._add_gap()
            chunk = Chunk([], 1, at_end=True)
        if self._content.advance(files, part, reader) and self.found is not None:
            self._liveness.note_growth(self.found, now)
        return chunk

    def _translate(self, chunk: Chunk, result: ReadResult) -> None:
        translation = self._content.start()
        next_seq = translation.next_seq
        records, malformed = self._content.translate(chunk)
        result.malformed += malformed
        if translation.has_plugin and self.state is LogState.LIVE:
            self._change(LogEvent.PLUGIN_FOUND)
            result.records.clear()
        if self.state is LogState.WATCHED:
            # No fact was sent, so the sequence numbers stay at 0: after a restart, numbers above 0 would mean that
            # facts were sent.
            translation.next_seq = next_seq
        else:
            result.records += records

    def _end_file(self, reader: LineReader, result: ReadResult, now: float) -> None:
        """Handle the end of a file: continue with the next file, finish the log, or wait for more bytes."""
        following = self._content.cursor.next_part(self.found)
        is_settled = self._liveness.is_settled(self.found, now)
        if following is None and not is_settled and not self._content.start().has_ended:
            return
        if following is not None or (is_settled and is_closed(self.found)):
            # An incomplete last line of an open log does not count yet: if the writer completed it later, the line
            # would count twice.
            self._translate(reader.finish(), result)
        if following is not None:
            self._content.cursor.move_to(following)
            result.more = True
            return
        self._end_log()

    def _end_log(self) -> None:
        translation = self._content.start()
        if translation.identity is None:
            raise NoApplicationError("no line of the log contains an application id")
        if not translation.has_ended:
            translation.torn = True
            if self.found is not None and not is_closed(self.found):
                self._dormant = DormantLog(end=end_of(self.found))
        self._change(LogEvent.ENDED)

    def _add_health(self, result: ReadResult, now: float) -> None:
        sends_facts = self.state in {LogState.LIVE, LogState.SHIPPED, LogState.QUARANTINED}
        if (translation := self._content.translation) is not None and sends_facts:
            is_last = self.state is not LogState.LIVE
            has_records = bool(result.records)
            result.records += translation.health(now, self.behind_bytes, is_last=is_last, has_records=has_records)

    def _skip_lost_file(self) -> Part | None:
        """Return the file after a file that was deleted before all of it was read."""
        following = self._content.cursor.next_part(self.found)
        if following is None or self._content.cursor.number < 0:
            return None
        self._add_gap()
        self._content.cursor.move_to(following)
        return following

    def _add_gap(self) -> None:
        self.gaps += 1
        if self.state is LogState.LIVE and (translation := self._content.translation) is not None:
            translation.add_gap()

    def _quarantine(self, reason: str) -> None:
        self._change(LogEvent.REFUSED)
        self.reason = reason
        self._dormant = None
        part = self._content.cursor.part(self.found)
        if part is not None:
            self._content.cursor.skip(part)

    # ---- what is stored

    def position(self) -> Position | None:
        """Return how far the log was read; None while the application is unknown and nothing was decided."""
        if self.identity is None and self.state is LogState.LIVE:
            return None
        position = Position(
            shipper=self._content.shipper.name,
            log=self.name,
            state=self.state.stored_name,
            updated_ms=time.time_ns() // 1_000_000,
        )
        self._content.store(position)
        return position
