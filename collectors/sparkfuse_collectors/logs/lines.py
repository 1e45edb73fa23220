"""The events of one file that grows, from where an earlier reader stopped."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.plain import Bookmark, PlainFile
from sparkfuse_kernel import EventLogDecoder

# A line that is longer is bad; Spark's longest hold the plans of huge queries.
LINE_BYTES = 16 * 1024 * 1024
# Readers of packed files that are kept open: each may hold a window of half a megabyte and more.
MOST_OPEN = 32


class Chunk(NamedTuple):
    """Name and JSON of the events that were read, lines among them that were none, and whether the file ended."""

    events: list[tuple[str, bytes]]
    malformed: int
    at_end: bool


class LineReader:
    """Reads events of one file from the plain offset ``offset`` on."""

    def __init__(self, files: Files, path: str, offset: int, bookmark: Bookmark | None, wanted: Sequence[str]) -> None:
        self.file = PlainFile(files, path, offset, bookmark)
        self._decoder = EventLogDecoder(offset=offset, events=list(wanted), limits={"line_bytes": LINE_BYTES})
        self._told_malformed = 0
        self._fed = offset

    @property
    def resume_at(self) -> int:
        """The beginning of the first line that was not read, as a plain offset."""
        return self._decoder.resume_at

    def read(self, most_bytes: int, until: int | None = None) -> Chunk:
        """The next events: about ``most_bytes`` of them, and more when a line is longer.

        Nothing behind ``until``, where the file ends for this reader.

        Raises BrokenFile, OSError.
        """
        begin, fed, at_end = self.resume_at, 0, False
        while fed < most_bytes or self.resume_at == begin:
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
        """The file ends here: its last line counts when it is whole, else it is malformed."""
        self._decoder.finish()
        chunk = self._chunk(at_end=True)
        torn: bool = self._decoder.take().evidence["truncated"]
        return chunk._replace(malformed=chunk.malformed + torn)

    def _chunk(self, at_end: bool) -> Chunk:
        malformed = self._decoder.malformed - self._told_malformed
        self._told_malformed += malformed
        return Chunk(self._decoder.take_events(), malformed, at_end)


class OpenReaders:
    """The readers that cost something to open again, the most recently used of them."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._open: OrderedDict[str, LineReader] = OrderedDict()

    def take(self, name: str) -> LineReader | None:
        """The reader of a log, which is the caller's from now on."""
        return self._open.pop(name, None)

    def keep(self, name: str, reader: LineReader) -> None:
        """Keep it for the next time, in the place of the one that was used longest ago."""
        self._open[name] = reader
        while len(self._open) > self._most:
            self._open.popitem(last=False)
