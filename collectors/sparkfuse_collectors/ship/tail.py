"""One log that is followed: how far it was read, what is to be read next, and the records that come of it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from sparkfuse_collectors.facts.application import EVENTS, RARE_EVENTS, ApplicationFacts, Identity, LogRefused
from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, Part
from sparkfuse_collectors.logs.lines import Chunk, LineReader, OpenReaders
from sparkfuse_collectors.logs.plain import Bookmark, BrokenFile
from sparkfuse_collectors.ship.rest import Rest, end_of
from sparkfuse_collectors.ship.translate import Shipper, Translation, feed_again
from sparkfuse_contracts.generated.position_pb2 import Position

LIVE, WATCHED, DONE, SET_ASIDE = "live", "watched", "done", "set aside"
# A log that was closed without an end may still be on its way: a copy, or a store that shows files late.
SETTLE_SECONDS = 60.0


class FileReplaced(OSError):
    """Another file took the path while it was read; the next look at the folder says what became of it."""


@dataclass
class Read:
    """What one look at a log gave: records of facts, bad lines, and whether there is more to read at once."""

    records: list[bytes] = field(default_factory=list)
    malformed: int = 0
    more: bool = False


class LogTail:
    """Follows one log. ``name`` stays through renaming, ``state`` is that of position.proto.

    ``history_due`` says that the log ended and its history is to be made; ``reason`` why it was set aside.
    ``abandoned`` is after how many seconds without a change its writer counts as dead, though it did not close it.
    """

    __slots__ = (
        "_abandoned", "_again", "_bookmark", "_changed_at", "_identity_read", "_index", "_known", "_offset",
        "_read_compacted", "_read_packed", "_rest", "_shipper", "_translation", "behind_since", "found", "gaps",
        "history_due", "name", "reason", "rewritten", "state",
    )  # fmt: skip

    def __init__(
        self, name: str, shipper: Shipper, position: Position | None = None, abandoned: float = math.inf
    ) -> None:
        self.name, self._shipper = name, shipper
        self._abandoned = max(abandoned, SETTLE_SECONDS)
        self.found: FoundLog | None = None
        # Some stores do not tell by a file's time that it grew: when it was last seen to have something new.
        self._changed_at = position.updated_ms / 1000 if position is not None else 0.0
        self.rewritten = self.gaps = 0
        self.behind_since = 0.0
        self._begin_anew()
        if position is not None:
            self._resume(position)

    def _begin_anew(self) -> None:
        self.state, self.reason, self.history_due = LIVE, "", False
        self._index, self._offset, self._read_packed = -1, 0, 0
        self._identity_read = ""
        # Whether what was read is a compacted file; None when an earlier start read it, whose position does not tell.
        self._read_compacted: bool | None = False
        self._bookmark: Bookmark | None = None
        self._known: Identity | None = None
        self._translation: Translation | None = None
        # What was read must be read again before the rest can be understood.
        self._again = False
        # What is done without its end may grow again.
        self._rest: Rest | None = None

    def _resume(self, position: Position) -> None:
        self.state = position.state or LIVE
        self.reason = "as it was before" if self.state == SET_ASIDE else ""
        if self.state == DONE:
            # Nobody knows whether its end was read; of one that has no numbers only its history was sent.
            was_live = any(int(number) for number in position.next_seq.values())
            self._rest = Rest(LIVE if was_live else WATCHED, position.updated_ms)
        if not position.HasField("app_id"):
            return
        self._known = Identity(position.app_id, position.app_attempt, position.app_start_ms)
        self._index, self._offset = position.file_index, position.read_plain_bytes
        # A file of which nothing was read follows another one, as a compacted file never does.
        self._read_compacted = None if self._offset else False
        self._shipper = self._shipper.going_on({lane: int(number) for lane, number in position.next_seq.items()})
        self._again = True

    # ---- what the folder says

    def saw(self, found: FoundLog, now: float) -> None:
        """The log as it lies there now."""
        is_first_without_time = not (found.modified_ms or self._changed_at)
        if is_first_without_time or (self.found is not None and found.parts != self.found.parts):
            self._changed_at = now
        self.found = found
        part = self._part()
        replaced = part is not None and bool(self._identity_read) and part.identity != self._identity_read
        if part is not None and (replaced or part.size_bytes < self._read_packed):
            # Renamed by a store that copies, rotated and packed, cut off, or another application's log: what it says
            # from its beginning tells them apart.
            self._identity_read, self._bookmark, self._read_packed = part.identity, None, 0
            self._forget()
        elif part is not None and self.state == SET_ASIDE and self._known is None and self._has_grown(part):
            self._begin_anew()  # it was no log yet: a copy that was on its way
        if self.state == DONE and self._rest is not None and self._rest.is_over(found):
            self.state, self._rest = self._rest.state, None
            self._again = self._known is not None
        if not self.wants_read(now):
            self.behind_since = 0.0
        elif not self.behind_since:
            self.behind_since = now

    def _has_grown(self, part: Part) -> bool:
        return bool(self._identity_read) and part.size_bytes > self._read_packed

    def put_away(self) -> None:
        """It does not lie there: keep where it stands, and read it again when it is back."""
        if self.state in {LIVE, WATCHED}:
            self._forget()
        self.behind_since = 0.0

    def _forget(self) -> None:
        """Let go of what was read, so that it is read again and compared."""
        self._let_go()
        self._again = True
        if self.state == SET_ASIDE:
            self.state = LIVE

    def wants_read(self, now: float) -> bool:
        """Whether there is something that was not read."""
        if self.found is None or self.history_due or self.state == SET_ASIDE:
            return False
        if self.state == DONE:
            return self._again and bool(self._identity_read)
        part = self._part()
        return (
            part is None
            or self._again
            or part.size_bytes > self._read_packed
            or self._next_part() is not None
            or self._is_settled(now)
        )

    @property
    def behind_bytes(self) -> int:
        """Bytes, as they lie there, that were not read."""
        if self.found is None or self.state in {DONE, SET_ASIDE}:
            return 0
        sizes = (part.size_bytes for part in self.found.parts if part.number >= self._index)
        return max(0, sum(sizes) - self._read_packed)

    @property
    def app_id(self) -> str:
        """Spark's id of the application, empty while it is not known."""
        identity = self._translation.facts.identity if self._translation else self._known
        return identity.app_id if identity else ""

    def only_history(self) -> None:
        """Send nothing live: it ended before anybody watched it."""
        self.state, self.history_due = WATCHED, True
        self._translation = None
        if self.found is not None and not self._is_closed:
            self._rest = Rest(WATCHED, end=end_of(self.found))

    # ---- reading

    def read(self, files: Files, readers: OpenReaders, most_bytes: int, now: float) -> Read:
        """The next records, of about ``most_bytes`` of the log. Raises OSError when it cannot be read now.

        What the log itself has wrong sets it aside, with a reason, and is not raised.
        """
        read = Read()
        try:
            if self._again and not self._warm_up(files):
                return read
            if self.state in {LIVE, WATCHED}:
                self._read_on(files, readers, most_bytes, now, read)
        except (LogRefused, BrokenFile) as refused:
            self._set_aside(str(refused))
        self._tell_health(read, now)
        if self.state in {DONE, SET_ASIDE}:
            self._let_go()
        if not self.wants_read(now):
            # Here too, or a log that has grown at each look would never have been read to its end.
            self.behind_since = 0.0
        return read

    def _let_go(self) -> None:
        """What is over needs no memory."""
        if self._translation is not None:
            self._known = self._translation.facts.identity or self._known
            self._shipper = self._shipper.going_on(self._translation.numbers)
            self._translation = None

    def _read_on(self, files: Files, readers: OpenReaders, most_bytes: int, now: float, read: Read) -> None:
        if self._translation is None:
            self._translation = Translation(self._shipper)
        part = self._part() or self._over_gap()
        if part is None:
            return
        reader = readers.take(self.name)
        if reader is None or reader.file.path != part.path or reader.resume_at != self._offset:
            reader = LineReader(files, part.path, self._offset, self._bookmark, self._wanted())
        chunk = self._chunk_of(files, reader, part, most_bytes, now)
        self._translate(chunk, read)
        read.more = not chunk.at_end
        if chunk.at_end:
            self._at_end(reader, read, now)
        if reader.file.path == part.path and reader.file.must_begin_anew and self._index == part.number:
            readers.keep(self.name, reader)

    def _chunk_of(self, files: Files, reader: LineReader, part: Part, most_bytes: int, now: float) -> Chunk:
        try:
            chunk = reader.read(most_bytes)
        except BrokenFile:
            if self._next_part() is None:
                raise
            self.gaps += 1
            self._gap()
            chunk = Chunk([], 1, at_end=True)
        if files.identity(part.path) != part.identity:
            raise FileReplaced(f"{part.path}: another file took its place")
        if reader.resume_at > self._offset and self._modified <= self._changed_at:
            self._changed_at = now  # it grew while no shipper ran, and its time does not tell when
        self._index, self._identity_read, self._read_compacted = part.number, part.identity, part.compacted
        self._offset, self._read_packed = reader.resume_at, reader.file.packed_at
        self._bookmark = reader.file.bookmark(self._offset)
        return chunk

    def _translate(self, chunk: Chunk, read: Read) -> None:
        assert self._translation is not None
        before, numbers = self._translation.malformed, dict(self._translation.numbers)
        read.records += self._translation.records(chunk)
        read.malformed += self._translation.malformed - before
        if self._translation.facts.watched and self.state == LIVE:
            self.state = WATCHED
        if self.state == WATCHED:
            read.records.clear()
            self._translation.numbers = numbers  # what is not sent takes none, by which a restart knows it

    def _at_end(self, reader: LineReader, read: Read, now: float) -> None:
        """Behind the last byte of a file: the next file, the end of the log, or nothing for now."""
        following = self._next_part()
        if following is None and not self._is_settled(now) and not self._has_ended():
            return
        if following is not None or (self._is_settled(now) and self._is_closed):
            # What is not closed may get the rest of its last line yet, and the line would count twice.
            self._translate(reader.finish(), read)
        if following is not None:
            self._go_to(following)
            read.more = True
            return
        self._end()

    def _end(self) -> None:
        assert self._translation is not None
        if self._translation.facts.identity is None:
            raise LogRefused("not one of its lines says which application it is of")
        if not self._has_ended():
            self._translation.torn = True
            if self.found is not None and not self._is_closed:
                self._rest = Rest(self.state, end=end_of(self.found))
        if self.state == WATCHED:
            self.history_due = True
        else:
            self.state = DONE

    def _tell_health(self, read: Read, now: float) -> None:
        if self._translation is not None and self.state in {LIVE, DONE, SET_ASIDE}:
            last = self.state != LIVE
            read.records += self._translation.health(now, self.behind_bytes, last=last, news=bool(read.records))

    def _over_gap(self) -> Part | None:
        """The file to read instead of one that is gone: what it still held is lost, and counted."""
        following = self._next_part()
        if following is None or self._index < 0:
            return None
        self.gaps += 1
        self._gap()
        self._go_to(following)
        return following

    def _go_to(self, part: Part) -> None:
        """Read this file next, from its beginning."""
        self._index, self._offset, self._read_packed = part.number, 0, 0
        self._identity_read, self._bookmark, self._read_compacted = part.identity, None, part.compacted

    def _gap(self) -> None:
        assert self._translation is not None
        if self.state == LIVE:
            self._translation.miss(1)

    def _set_aside(self, reason: str) -> None:
        self.state, self.reason, self.history_due = SET_ASIDE, reason, False
        self._rest = None
        part = self._part()
        if part is not None:
            self._read_packed, self._identity_read = part.size_bytes, part.identity

    def _has_ended(self) -> bool:
        return self._translation is not None and self._translation.facts.ended_ms is not None

    def _is_settled(self, now: float) -> bool:
        """Whether its writer is done with it, and long enough ago that nothing more of it can appear.

        One that was killed never says so: long enough without a change says it.
        """
        if self.found is None:
            return False
        if self._is_closed:
            return now - self._modified > SETTLE_SECONDS
        return now - max(self._modified, self._changed_at) > self._abandoned

    @property
    def _modified(self) -> float:
        """When its store says that it changed last, in seconds."""
        return self.found.modified_ms / 1000 if self.found is not None else 0.0

    @property
    def _is_closed(self) -> bool:
        return self.found is not None and self.found.closed is True

    def _wanted(self) -> tuple[str, ...]:
        return RARE_EVENTS if self.state == WATCHED else EVENTS

    def _part(self) -> Part | None:
        """The file that is read, or the first one when none was."""
        parts = self.found.parts if self.found else ()
        if self._index < 0:
            return parts[0] if parts else None
        return next((part for part in parts if part.number == self._index and not self._is_late_rewrite(part)), None)

    def _is_late_rewrite(self, part: Part) -> bool:
        """Whether a compacted file took the place of the one that was read: most of it was sent already."""
        return part.compacted and part.number == self._index and self._read_compacted is False

    def _next_part(self) -> Part | None:
        parts = self.found.parts if self.found else ()
        return next((part for part in parts if part.number > self._index and not part.compacted), None)

    # ---- going on in the middle

    def _warm_up(self, files: Files) -> bool:
        """Read again what was read before, so that the rest can be understood; false while that is not possible.

        A log that turns out to be another application's is begun anew; one that is shorter than what was read of it
        is set aside, unless it was compacted meanwhile and has a next file.
        """
        assert self.found is not None
        facts, reached = ApplicationFacts(), True
        for part in self.found.parts:
            if part.number > self._index:
                break
            reached = self._feed_again(files, part, facts)
            if facts.identity is not None and facts.identity != self._known:
                self.rewritten += 1
                self._shipper = self._shipper.going_on({})
                self._begin_anew()
                return True
            if not reached and part.compacted and self._read_compacted is None and self._next_part() is not None:
                self._read_compacted = False
                return self._warm_up(files)
        if facts.identity is None and not reached:
            return False  # it is being written anew and does not say yet by whom
        self._again = False
        if not reached and self.state != DONE:
            raise LogRefused("it is shorter than what was read of it")
        if facts.identity is None and self._known is not None:
            facts.go_on_as(self._known)  # its first files are gone
        self._translation = Translation(self._shipper, facts)
        return True

    def _feed_again(self, files: Files, part: Part, facts: ApplicationFacts) -> bool:
        """Feed one file, the one that was read last up to where it was read; whether a line begins there."""
        until = self._offset if part.number == self._index and not self._is_late_rewrite(part) else None
        return feed_again(facts, LineReader(files, part.path, 0, None, RARE_EVENTS), until)

    # ---- what is to be remembered

    def history_sent(self) -> None:
        """Its history is on its way: nothing is left to do."""
        self.state, self.history_due = DONE, False
        self._let_go()

    def position(self) -> Position | None:
        """How far it was read; None while it is not known which application it is of and nothing was decided."""
        identity = self._translation.facts.identity if self._translation else self._known
        if identity is None and self.state == LIVE:
            return None
        position = Position(
            shipper=self._shipper.name,
            log=self.name,
            file_index=max(0, self._index),
            read_plain_bytes=self._offset,
            state=self.state,
            updated_ms=time.time_ns() // 1_000_000,
        )
        numbers = self._translation.numbers if self._translation else self._shipper.numbers
        position.next_seq.update({lane: str(number) for lane, number in numbers.items()})
        if identity is not None:
            position.app_id, position.app_attempt = identity.app_id, identity.attempt
            position.app_start_ms = identity.start_ms
        return position
