"""Decompressed ("plain") bytes of one growing file."""

from __future__ import annotations

from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files
from sparkfuse_kernel import Decompressor

PLAIN_PIECE = 256 * 1024
# Compressed data may decompress to a thousand times its size.
PACKED_PIECE = 16 * 1024
MAGIC = 16


class BrokenFileError(ValueError):
    """A compressed file is damaged, and the bytes after the damage cannot be read; the message is the reason."""


class Bookmark(NamedTuple):
    """A position where reading can start: the codec, and how many compressed and plain bytes precede it."""

    codec: str
    packed: int
    plain: int


class PlainFile:
    """Reads a growing file from an offset in plain bytes; decompression starts at the beginning or at a bookmark.

    ``packed_at`` is the number of stored (compressed) bytes that were read so far.
    """

    def __init__(self, files: Files, path: str, offset: int, bookmark: Bookmark | None = None) -> None:
        start = bookmark if bookmark and bookmark.plain <= offset else None
        self._files, self.path = files, path
        self._wanted = offset
        self._start = start or Bookmark("", 0, 0)
        self._decompressor = Decompressor(codec=start.codec) if start else Decompressor()
        self.packed_at, self._plain_at = self._start.packed, self._start.plain
        self._bookmarks: list[Bookmark] = []

    @property
    def has_no_boundaries(self) -> bool:
        """Whether a later reader must decompress the file from its beginning."""
        return self._decompressor.codec in {"zstd", "gzip"}

    def read(self) -> bytes:
        """Return the next plain bytes; none if the file has no more now. Raises BrokenFileError, OSError."""
        while True:
            piece = self._piece()
            packed = self._files.read(self.path, self.packed_at, piece)
            if not packed:
                return b""
            try:
                plain = self._decompressor.feed(packed)
            except ValueError as error:
                raise BrokenFileError(str(error)) from error
            self.packed_at += len(packed)
            self._plain_at += len(plain)
            self._mark()
            if fresh := self._fresh(plain):
                return fresh

    def bookmark(self, offset: int) -> Bookmark | None:
        """Return the best place for a later reader that needs the plain bytes from ``offset`` on."""
        if self._decompressor.codec == "plain":
            return Bookmark("plain", offset, offset)
        return next((mark for mark in reversed(self._bookmarks) if mark.plain <= offset), None)

    def _piece(self) -> int:
        codec = self._decompressor.codec
        if codec is None:
            return MAGIC
        if codec == "plain" and self._plain_at < self._wanted:
            self.packed_at = self._plain_at = self._wanted  # skip the bytes before the wanted offset
        return PLAIN_PIECE if codec == "plain" else PACKED_PIECE

    def _mark(self) -> None:
        packed, plain = self._decompressor.boundary
        if packed and self._decompressor.codec not in {None, "plain"}:
            mark = Bookmark(str(self._decompressor.codec), self._start.packed + packed, self._start.plain + plain)
            self._bookmarks.append(mark)

    def _fresh(self, plain: bytes) -> bytes:
        """Return the part of ``plain`` after the wanted offset."""
        start = self._plain_at - len(plain)
        if self._plain_at <= self._wanted:
            return b""
        fresh = plain[self._wanted - start :] if start < self._wanted else plain
        self._wanted = self._plain_at
        return fresh
