"""One event log with its files in reading order, and the errors for a path that is not a readable log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Protocol


class UnreadableLogError(ValueError):
    """A path is not an event log or cannot be read; the message is one sentence that begins with the path."""


class NoEventLogError(UnreadableLogError):
    """A file can be read, but none of its lines is a Spark event."""


class Reader(Protocol):
    """A file that is read once, from its beginning."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, and none at the end."""
        ...


# For a local file, a path that several threads may read at the same time; for any other file, a name and a reader.
Piece = str | tuple[str, Reader]


class LazyFile:
    """A file that is opened at the first read and closed at its end, so that a log has at most one open file."""

    def __init__(self, open_file: Callable[[], IO[bytes]]) -> None:
        self._open_file = open_file
        self._file: IO[bytes] | None = None
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, and none at the end. Raises the exceptions that the open file raises."""
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

    ``name`` is the log's path or URL without credentials, ``size_bytes`` the size of its files as stored. ``missing``
    are the names of files that the layout requires but the folder lacks.
    """

    name: str
    pieces: tuple[Piece, ...]
    size_bytes: int = 0
    missing: tuple[str, ...] = ()
