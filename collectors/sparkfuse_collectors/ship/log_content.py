"""The part of one log that was read: the cursor, and the translation of the events before the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, Part
from sparkfuse_collectors.logs.lines import Chunk, LineReader, ReaderCache
from sparkfuse_collectors.ship.cursor import Cursor
from sparkfuse_collectors.ship.replay import replay
from sparkfuse_collectors.ship.translation import Identity, Shipper, Translation
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_kernel import NoApplicationError


class FileReplacedError(OSError):
    """Another file appeared at the path during the read; the next scan of the folder determines the cause."""


class ReplayResult(Enum):
    """The kind of log that a replay found at the path."""

    SAME_RUN = auto()
    """The log of the run that was read before; the translation can continue."""
    OTHER_RUN = auto()
    """The log of another run, which must be read from its beginning."""
    UNKNOWN = auto()
    """The beginning of a log that is being rewritten; the run is not known yet."""


class LogContent:
    """The part of one log that was read.

    The translation is freed while the log is absent or finished. Before the next event can be translated, a replay
    creates the translation again from the same events; ``needs_replay`` is True until then.
    """

    __slots__ = ("_identity", "_translation", "cursor", "needs_replay", "shipper")

    def __init__(self, shipper: Shipper) -> None:
        self.shipper = shipper
        self.cursor = Cursor()
        self.needs_replay = False
        self._identity: Identity | None = None
        self._translation: Translation | None = None

    # ---- positions

    def restore(self, position: Position) -> None:
        """Continue where an earlier shipper stopped; without a known run the log is read from its beginning."""
        if not position.HasField("app_id"):
            return
        self._identity = Identity(position.app_id, position.app_attempt, position.app_start_ms)
        self.cursor.number, self.cursor.offset = position.file_index, position.read_plain_bytes
        # If the offset is 0, an earlier file of the log was read before this one. Only the first file can be a
        # compacted file, so this file is not compacted.
        self.cursor.compacted = None if self.cursor.offset else False
        self.shipper = self.shipper.with_next_seq(numbers_of(position))
        self.needs_replay = True

    def store(self, position: Position) -> None:
        """Write cursor, run and sequence numbers into a position."""
        position.file_index, position.read_plain_bytes = max(0, self.cursor.number), self.cursor.offset
        next_seq = self._translation.next_seq if self._translation else self.shipper.next_seq
        position.next_seq.update({lane: str(number) for lane, number in next_seq.items()})
        if (identity := self.identity) is not None:
            position.app_id, position.app_attempt = identity.app_id, identity.attempt
            position.app_start_ms = identity.start_ms

    @property
    def identity(self) -> Identity | None:
        """The run of the application, None while it is unknown."""
        return self._translation.identity if self._translation else self._identity

    # ---- the translation

    @property
    def translation(self) -> Translation | None:
        """The translation of the events before the cursor, None while it is freed or not started."""
        return self._translation

    def start(self) -> Translation:
        """Return the translation; create one if the log has not been read yet."""
        if self._translation is None:
            self._translation = Translation(self.shipper)
        return self._translation

    def release(self) -> None:
        """Free the memory of the translation, but keep run and sequence numbers."""
        if self._translation is not None:
            self._identity = self._translation.identity or self._identity
            self.shipper = self.shipper.with_next_seq(self._translation.next_seq)
            self._translation = None

    def forget(self) -> None:
        """Free the translation and require a replay, because other files may have replaced the log's files."""
        self.release()
        self.needs_replay = True

    def discard(self) -> None:
        """Free the translation and its sequence numbers; call this only if no fact of the log was sent."""
        self._translation = None

    def resume(self) -> None:
        """Continue a finished log that has grown."""
        self.needs_replay = self._identity is not None

    def replay(self, files: Files, found: FoundLog, *, may_be_shorter: bool) -> ReplayResult:
        """Read the log again from its beginning up to the cursor.

        Raises NoApplicationError if the log of the same run became shorter although ``may_be_shorter`` is false,
        BrokenFileError, OSError.
        """
        result = replay(files, found, self.cursor, self.shipper, self._identity)
        if result.is_other_application:
            return ReplayResult.OTHER_RUN
        if result.translation.identity is None and not result.is_complete:
            return ReplayResult.UNKNOWN
        self.needs_replay = False
        if not result.is_complete and not may_be_shorter:
            raise NoApplicationError("the log is shorter than the part that was already read")
        if result.translation.identity is None and self._identity is not None:
            result.translation.resume_as(self._identity)  # the first files of the log no longer exist
        self._translation = result.translation
        return ReplayResult.SAME_RUN

    # ---- reading

    def reader(self, files: Files, readers: ReaderCache, name: str, part: Part, events: tuple[str, ...]) -> LineReader:
        """Return a reader at the cursor: the cached reader if its position is the cursor, otherwise a new reader."""
        reader = readers.take(name)
        if reader is None or reader.file.path != part.path or reader.resume_at != self.cursor.offset:
            reader = LineReader(files, part.path, self.cursor.offset, self.cursor.bookmark, events)
        return reader

    def keep_reader(self, readers: ReaderCache, name: str, part: Part, reader: LineReader) -> None:
        """Put a reader into the cache if a new reader would have to decompress the file from its beginning."""
        if reader.file.path == part.path and reader.file.has_no_boundaries and self.cursor.number == part.number:
            readers.keep(name, reader)

    def advance(self, files: Files, part: Part, reader: LineReader) -> bool:
        """Move the cursor to the reader's position; return whether the cursor moved. Raises FileReplacedError."""
        if files.identity(part.path) != part.identity:
            raise FileReplacedError(f"{part.path} was replaced by another file")
        has_moved = reader.resume_at > self.cursor.offset
        self.cursor.advance(part, reader)
        return has_moved

    def translate(self, chunk: Chunk) -> tuple[list[bytes], int]:
        """Return the records of these lines and the number of malformed lines. Raises NoApplicationError."""
        translation = self.start()
        before = translation.malformed
        records = translation.records(chunk)
        return records, translation.malformed - before


def numbers_of(position: Position) -> Mapping[str, int]:
    """Return the next sequence number of each lane (``reserved`` or ``bulk``)."""
    return {lane: int(number) for lane, number in position.next_seq.items()}
