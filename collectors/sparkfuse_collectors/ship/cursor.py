"""The position up to which a log was read."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_collectors.logs.find import FoundLog, Part
from sparkfuse_collectors.logs.lines import LineReader
from sparkfuse_collectors.logs.plain import Bookmark


@dataclass(slots=True)
class Cursor:
    """The current file of a log, and the offset up to which this file was read.

    ``number`` is the file's number in the log, -1 before the first file. ``offset`` counts plain bytes,
    ``packed_bytes`` bytes of the file as stored. ``identity`` is the identity of the file; it is empty until the file
    has been compared with what was read before. ``compacted`` is True for a compacted file, and None if an earlier
    shipper read the file.
    """

    number: int = -1
    offset: int = 0
    packed_bytes: int = 0
    identity: str = ""
    compacted: bool | None = False
    bookmark: Bookmark | None = None

    def part(self, found: FoundLog | None) -> Part | None:
        """Return the current file, or the first file if nothing was read; None if the file no longer exists."""
        parts = found.parts if found else ()
        if self.number < 0:
            return parts[0] if parts else None
        return next((part for part in parts if part.number == self.number and not self.was_compacted(part)), None)

    def next_part(self, found: FoundLog | None) -> Part | None:
        """Return the file after the current one; compacted files are skipped, because their facts were sent."""
        parts = found.parts if found else ()
        return next((part for part in parts if part.number > self.number and not part.compacted), None)

    def was_compacted(self, part: Part) -> bool:
        """Whether a compacted file replaced the current file; most facts of the compacted file were sent already."""
        return part.compacted and part.number == self.number and self.compacted is False

    def is_replaced(self, part: Part) -> bool:
        """Whether another file is now at the path, or the file became shorter than the part that was read."""
        return (bool(self.identity) and part.identity != self.identity) or part.size_bytes < self.packed_bytes

    def has_grown(self, part: Part) -> bool:
        """Whether the file is longer than the part that was read."""
        return bool(self.identity) and part.size_bytes > self.packed_bytes

    def move_to(self, part: Part) -> None:
        """Move the cursor to the beginning of this file."""
        self.number, self.offset, self.packed_bytes = part.number, 0, 0
        self.identity, self.bookmark, self.compacted = part.identity, None, part.compacted

    def advance(self, part: Part, reader: LineReader) -> None:
        """Move the cursor to the position of the reader in this file."""
        self.number, self.identity, self.compacted = part.number, part.identity, part.compacted
        self.offset, self.packed_bytes = reader.resume_at, reader.file.packed_at
        self.bookmark = reader.file.bookmark(self.offset)

    def compare_again(self, part: Part) -> None:
        """Use the file that is at the path now, and require a comparison of its content with what was read."""
        self.identity, self.bookmark, self.packed_bytes = part.identity, None, 0

    def skip(self, part: Part) -> None:
        """Mark the whole file as read."""
        self.packed_bytes, self.identity = part.size_bytes, part.identity
