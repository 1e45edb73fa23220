"""Dormant logs: logs that count as ended although their writers did not close them."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_collectors.logs.find import FoundLog


@dataclass
class DormantLog:
    """The end of a dormant log, to detect whether the log has grown.

    ``since_ms`` is the last time before a restart at which the log was seen unchanged. ``end`` is the number and size
    of the log's last file, None if the log has not been seen since the restart.
    """

    since_ms: int = 0
    end: tuple[int, int] | None = None

    def has_grown(self, found: FoundLog) -> bool:
        """Whether the log grew; at the first call after a restart, the modification time decides."""
        end = end_of(found)
        if self.end is None:
            self.end = end
            return found.modified_ms > self.since_ms
        return end > self.end


def end_of(found: FoundLog) -> tuple[int, int]:
    """Return number and size of the log's last file; the pair becomes greater when the log grows."""
    last = found.parts[-1]
    return last.number, last.size_bytes
