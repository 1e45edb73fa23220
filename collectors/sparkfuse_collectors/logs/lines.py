"""Reads the events of one growing file, starting where an earlier reader stopped."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.plain import Bookmark, PlainFile
from sparkfuse_kernel import EventLogDecoder

# A longer line is malformed; the longest lines of Spark contain the plans of huge queries.
LINE_BYTES = 16 * 1024 * 1024
# Each reader of a compressed file may need half a megabyte or more for its decompression window.
MAX_OPEN = 32


class Chunk(NamedTuple):
    """Name and JSON of each event that was read, the number of malformed lines, and whether the file ended."""

    events: list[tuple[str, bytes]]
    malformed: int
    at_end: bool


class LineReader:
    """Reads the events of one file, starting at an offset in its decompressed content."""

    def __init__(self, files: Files, path: str, offset: int, bookmark: Bookmark | None, wanted: Sequence[str]) -> None:
        self.file = PlainFile(files, path, offset, bookmark)
        self._decoder = EventLogDecoder(offset=offset, events=list(wanted), limits={"line_bytes": LINE_BYTES})
        self._reported_malformed = 0
        self._fed = offset

    @property
    def resume_at(self) -> int:
        """The offset, in decompressed bytes, of the first line that was not read."""
        return self._decoder.resume_at

    def read(self, max_bytes: int, until: int | None = None) -> Chunk:
        """Return the events in the next ``max_bytes`` or so of decompressed bytes; read more if a line is longer.

        If ``until`` is given, the reader treats this offset as the end of the file. Raises BrokenFileError, OSError.
        """
        start, fed, at_end = self.resume_at, 0, False
        while fed < max_bytes or self.resume_at == start:
            plain = self.file.read()
            if not plain:
                at_end = True
                break
            fed += len(plain)
            self._fed += len(plain)
            if until is not None and self._fed >= until:
                self._decoder.feed(plain[: len(plain) - (self._fed - until)])
                at_end = True
                break
            self._decoder.feed(plain)
        return self._chunk(at_end)

    def finish(self) -> Chunk:
        """Return a chunk with the last line of the file; an incomplete line counts as malformed."""
        self._decoder.finish()
        chunk = self._chunk(at_end=True)
        torn: bool = self._decoder.take().evidence["truncated"]
        return chunk._replace(malformed=chunk.malformed + torn)

    def _chunk(self, at_end: bool) -> Chunk:
        malformed = self._decoder.malformed - self._reported_malformed
        self._reported_malformed += malformed
        return Chunk(self._decoder.take_events(), malformed, at_end)


class ReaderCache:
    """The most recently used readers of files whose decompression cannot resume in the middle."""

    def __init__(self, max_open: int = MAX_OPEN) -> None:
        self._max_open = max_open
        self._open: OrderedDict[str, LineReader] = OrderedDict()

    def take(self, name: str) -> LineReader | None:
        """Remove the reader of a log from the cache and return it; return None if the cache has none."""
        return self._open.pop(name, None)

    def keep(self, name: str, reader: LineReader) -> None:
        """Put a reader into the cache; if the cache is full, drop the least recently used reader."""
        self._open[name] = reader
        while len(self._open) > self._max_open:
            self._open.popitem(last=False)
