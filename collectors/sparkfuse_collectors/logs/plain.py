"""Plain bytes of one file that grows, whatever it is packed with."""

from __future__ import annotations

from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files
from sparkfuse_kernel import Decompressor

PLAIN_PIECE = 256 * 1024
# A packed piece may hold a thousand times its size.
PACKED_PIECE = 16 * 1024
MAGIC = 16


class BrokenFile(ValueError):
    """A packed file is not what its first bytes say; the text is a reason. Nothing behind that place can be read."""


class Bookmark(NamedTuple):
    """Where reading a file can begin again: its codec, and packed and plain bytes up to there."""

    codec: str
    packed: int
    plain: int


class PlainFile:
    """Reads a growing file from a plain offset on, from its beginning or from a bookmark of an earlier reader.

    ``packed_at`` counts the packed bytes up to which it was read.
    """

    def __init__(self, files: Files, path: str, offset: int, bookmark: Bookmark | None = None) -> None:
        begin = bookmark if bookmark and bookmark.plain <= offset else None
        self._files, self.path = files, path
        self._wanted = offset
        self._begin = begin or Bookmark("", 0, 0)
        self._decompressor = Decompressor(codec=begin.codec) if begin else Decompressor()
        self.packed_at, self._plain_at = self._begin.packed, self._begin.plain
        self._bookmarks: list[Bookmark] = []

    @property
    def reached(self) -> bool:
        """Whether the plain offset was there: false for a packed file that is shorter now than it was."""
        return self._plain_at >= self._wanted

    @property
    def must_begin_anew(self) -> bool:
        """Whether to go on later means to unpack all from the beginning, because the codec has no boundaries."""
        return self._decompressor.codec in {"zstd", "gzip"}

    def read(self) -> bytes:
        """The next plain bytes; none when there are no more now. Raises BrokenFile and OSError."""
        while True:
            piece = self._piece()
            packed = self._files.read(self.path, self.packed_at, piece)
            if not packed:
                return b""
            try:
                plain = self._decompressor.feed(packed)
            except ValueError as error:
                raise BrokenFile(str(error)) from error
            self.packed_at += len(packed)
            self._plain_at += len(plain)
            self._mark()
            if fresh := self._fresh(plain):
                return fresh

    def bookmark(self, offset: int) -> Bookmark | None:
        """Where a later reader that wants the plain bytes from ``offset`` on can best begin."""
        if self._decompressor.codec == "plain":
            return Bookmark("plain", offset, offset)
        return next((mark for mark in reversed(self._bookmarks) if mark.plain <= offset), None)

    def _piece(self) -> int:
        codec = self._decompressor.codec
        if codec is None:
            return MAGIC
        if codec == "plain" and self._plain_at < self._wanted:
            self.packed_at = self._plain_at = self._wanted  # nothing of what lies between is needed
        return PLAIN_PIECE if codec == "plain" else PACKED_PIECE

    def _mark(self) -> None:
        packed, plain = self._decompressor.boundary
        if packed and self._decompressor.codec not in {None, "plain"}:
            mark = Bookmark(str(self._decompressor.codec), self._begin.packed + packed, self._begin.plain + plain)
            self._bookmarks.append(mark)

    def _fresh(self, plain: bytes) -> bytes:
        """What of these bytes lies behind the wanted offset."""
        begin = self._plain_at - len(plain)
        if self._plain_at <= self._wanted:
            return b""
        fresh = plain[self._wanted - begin :] if begin < self._wanted else plain
        self._wanted = self._plain_at
        return fresh
