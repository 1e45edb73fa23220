"""A log that counts as over though nobody closed it: what it is again when it grows."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_collectors.logs.find import FoundLog


@dataclass
class Rest:
    """``state`` is what the log is when it grows, ``since_ms`` when it was last seen to rest, before this start.

    ``end`` is number and size of its last file as it rests, None while it was not seen since the start.
    """

    state: str
    since_ms: int = 0
    end: tuple[int, int] | None = None

    def is_over(self, found: FoundLog) -> bool:
        """Whether the log grew; of the time in which no shipper ran only the file's own time tells."""
        end = end_of(found)
        if self.end is None:
            self.end = end
            return found.modified_ms > self.since_ms
        return end > self.end


def end_of(found: FoundLog) -> tuple[int, int]:
    """Number and size of the last file: it is greater when the log grew."""
    last = found.parts[-1]
    return last.number, last.size_bytes
