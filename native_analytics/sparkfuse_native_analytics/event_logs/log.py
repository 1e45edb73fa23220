"""One event log: the files that make it, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Protocol


class LogUnreadable(ValueError):
    """A path is no event log or cannot be read; the text is one sentence that begins with the path."""


class NoEventLog(LogUnreadable):
    """A file can be read, but not one line of it is an event of Spark."""


class Reader(Protocol):
    """A file that is read from its beginning, once."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes more; empty at the end."""
        ...


# A local file by its path, so that several threads may read it at once, or a name with what reads it.
Piece = str | tuple[str, Reader]


class OpenedLater:
    """A file that is opened when it is read, so that a log of a thousand files holds one open; closed at its end."""

    def __init__(self, open_file: Callable[[], IO[bytes]]) -> None:
        self._open_file = open_file
        self._file: IO[bytes] | None = None
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes more; empty at the end. Raises what the file raises."""
        if self._ended:
            return b""
        if self._file is None:
            self._file = self._open_file()
        content = self._file.read(size)
        if not content:
            self._ended = True
            self._file.close()
        return content


@dataclass(frozen=True)
class Log:
    """The log of one application attempt.

    ``name`` is its path or URL, without credentials; ``size_bytes`` what its files take where they lie;
    ``missing`` names files that should be among the pieces and are not there.
    """

    name: str
    pieces: tuple[Piece, ...]
    size_bytes: int = 0
    missing: tuple[str, ...] = ()
