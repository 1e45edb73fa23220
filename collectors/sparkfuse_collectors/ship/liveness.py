"""Decides whether the writer of a log may still write to this log."""

from __future__ import annotations

from sparkfuse_collectors.logs.find import FoundLog

# If a closed log has no end event, another process may still be copying it, or the object store may list new files
# late.
SETTLE_SECONDS = 60.0


class Liveness:
    """Decides whether a log is complete, from the times of the log's changes.

    ``abandoned_seconds`` is how long a log without a change may stay open before its writer counts as dead.
    ``changed_at`` is when the log was last seen to contain something new, because some file systems do not update a
    file's time while the file grows.
    """

    __slots__ = ("abandoned_seconds", "changed_at")

    def __init__(self, abandoned_seconds: float, changed_at: float) -> None:
        self.abandoned_seconds = max(abandoned_seconds, SETTLE_SECONDS)
        self.changed_at = changed_at

    def observe(self, previous: FoundLog | None, found: FoundLog, now: float) -> None:
        """Compare a listing of the log with the previous one."""
        is_first_without_time = not (found.modified_ms or self.changed_at)
        if is_first_without_time or (previous is not None and found.parts != previous.parts):
            self.changed_at = now

    def note_growth(self, found: FoundLog, now: float) -> None:
        """Record that the log has new content, although its modification time may be old."""
        if modified_at(found) <= self.changed_at:
            self.changed_at = now

    def is_settled(self, found: FoundLog | None, now: float) -> bool:
        """Whether the writer counts as finished, so that the log is not expected to grow.

        The writer of a closed log counts as finished after a minute. A killed writer never closes its log, so the
        writer of an open log counts as finished after ``abandoned_seconds``.
        """
        if found is None:
            return False
        if found.closed is True:
            return now - modified_at(found) > SETTLE_SECONDS
        return now - max(modified_at(found), self.changed_at) > self.abandoned_seconds


def modified_at(found: FoundLog) -> float:
    """Return the time of the log's last change that the file system reports, in seconds since 1970."""
    return found.modified_ms / 1000


def is_closed(found: FoundLog | None) -> bool:
    """Whether the writer closed the log."""
    return found is not None and found.closed is True
