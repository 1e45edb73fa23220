"""Tracks the logs of all followed folders: logs appear, grow, are renamed, and are deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, find_logs
from sparkfuse_collectors.ship.log_state import STORED_NAMES, LogState
from sparkfuse_collectors.ship.tail import LogTail
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.generated.position_pb2 import Position

# While a log is renamed, a scan of its folder may see neither name.
SCANS_UNTIL_MISSING = 3
# If a subfolder is unmounted, its listing is empty; usually it is mounted again within hours. If the positions of the
# subfolder's logs were dropped, these logs would be sent again from the beginning. A position takes about a kilobyte of
# memory.
FORGET_SECONDS = 6 * 3600.0
_DELETED = {
    LogState.LIVE: "deleted before its end",
    LogState.WATCHED: "deleted before its history",
    LogState.HISTORY_DUE: "deleted before its history",
}
_log = logging.getLogger("sparkfuse.ship")


@dataclass(frozen=True)
class Ages:
    """Limits in seconds since the last change of a log.

    ``ended``: if a closed log is older than this when it is first seen, its facts are not sent. ``abandoned``: an open
    log that is older than this counts as ended.
    """

    ended: float = 600.0
    abandoned: float = 86_400.0


@dataclass
class MissingLog:
    """The number of scans that did not find a log, and when the time limit of the missing log began.

    Only scans that could have found the log are counted.
    """

    scans: int
    since: float


@dataclass
class ReplacementFolder:
    """Another folder at the path of a followed folder; every scan since ``since`` has found logs in it."""

    identity: str
    since: float


@dataclass
class Folder:
    """One folder and its logs by name.

    ``tails`` are the logs that are in the folder now, ``absent`` are known logs that are not in the folder now.
    ``identity`` is the identity that the root had when it last contained a known log. ``new_in_replacement`` are the
    logs that were first seen in the ``replacement`` folder. ``unlisted`` are subfolders that could not be listed at the
    last scan.
    """

    files: Files
    tails: dict[str, LogTail] = field(default_factory=dict)
    absent: dict[str, LogTail] = field(default_factory=dict)
    missing: dict[str, MissingLog] = field(default_factory=dict)
    identity: str | None = None
    replacement: ReplacementFolder | None = None
    new_in_replacement: set[str] = field(default_factory=set)
    unlisted: set[str] = field(default_factory=set)
    has_failed: bool = False

    @property
    def prefix(self) -> str:
        """The prefix that the names of all logs in the folder share, unless the folder is itself a log."""
        return self.files.root.rstrip("/") + "/"

    def contains(self, name: str) -> bool:
        """Whether the log is below this folder, or is this folder itself, because a rolled log is a folder."""
        return name.rstrip("/") + "/" == self.prefix or name.startswith(self.prefix)

    def is_hidden(self, name: str) -> bool:
        """Whether the log, or a folder between it and the root, could not be listed."""
        while self.unlisted and name.startswith(self.prefix):
            if name in self.unlisted:
                return True
            name = name.rpartition("/")[0]
        return False


class Folders:
    """The logs that are followed. ``report_problem`` is called with the kind of each problem."""

    def __init__(
        self,
        files: list[Files],
        shipper: Shipper,
        positions: Mapping[str, Position],
        ages: Ages,
        report_problem: Callable[[str], None],
    ) -> None:
        self._folders = [Folder(each) for each in files]
        self._shipper, self._ages, self._report_problem = shipper, ages, report_problem
        for name, position in positions.items():
            self._restore(name, position)

    def _restore(self, name: str, position: Position) -> None:
        """Add a log that an earlier shipper read; the log is absent until a scan finds it."""
        folder = next((folder for folder in self._folders if folder.contains(name)), None)
        if folder is None:
            return
        tail = LogTail(name, self._shipper, position, self._ages.abandoned)
        folder.absent[name] = tail
        # For a finished log, the time limit starts at the last change of its position. If this position is dropped too
        # early, only the log's history is sent again. For any other log, facts would be sent twice, so the limit starts
        # at the first scan.
        if tail.is_finished and position.updated_ms:
            folder.missing[name] = MissingLog(0, position.updated_ms / 1000)

    def tails(self) -> Iterator[tuple[Files, LogTail]]:
        """Yield all logs that are in their folders."""
        for folder in self._folders:
            for tail in folder.tails.values():
                yield folder.files, tail

    def scan(self, now: float) -> list[str]:
        """Scan all folders; return the names of logs that were deleted and no longer need a position."""
        forgotten: list[str] = []
        for folder in self._folders:
            try:
                identity = folder.files.identity(folder.files.root)
                seen, new = self._scan_folder(folder, now)
            except OSError as error:
                self._report_unlisted_root(folder, error)
                folder.replacement = None
                self._restart_missing(folder, now)
                continue
            folder.has_failed = False
            self._recognise(folder, identity, seen, new, now)
            self._count_missing(folder, seen, now)
            # If a file system is unmounted, its mount point is empty or contains unrelated files. The scan then gives
            # no information about the logs of that file system.
            if not seen or folder.identity != identity:
                self._restart_missing(folder, now)
            forgotten += self._forget(folder, now)
        return forgotten

    def _scan_folder(self, folder: Folder, now: float) -> tuple[set[str], set[str]]:
        """Update the logs of a folder; return the names of all logs and of those never seen before."""
        unlisted: dict[str, OSError] = {}
        seen, new = set[str](), set[str]()
        for found in find_logs(folder.files, unlisted.__setitem__):
            tail = folder.tails.get(found.name) or self._take_absent(folder, found.name)
            if tail is None:
                tail = self._new_tail(found, now)
                new.add(found.name)
            folder.tails[found.name] = tail
            tail.observe(found, now)
            seen.add(found.name)
        for path, error in unlisted.items():
            self._report_problem("unreadable")
            if path.rstrip("/") not in folder.unlisted:
                _log.warning("%s cannot be listed and will be retried: %s", folder.files.display_path(path), error)
        folder.unlisted = {path.rstrip("/") for path in unlisted}
        return seen, new

    def _new_tail(self, found: FoundLog, now: float) -> LogTail:
        tail = LogTail(found.name, self._shipper, abandoned=self._ages.abandoned)
        tail.found = found
        age = now - found.modified_ms / 1000
        # If a file system has no modification times, an open log may be new. Such a log counts as abandoned only if it
        # does not change from now on.
        has_no_age = found.closed is False and not found.modified_ms
        if not has_no_age and age > (self._ages.abandoned if found.closed is False else self._ages.ended):
            tail.send_only_history()
        return tail

    @staticmethod
    def _take_absent(folder: Folder, name: str) -> LogTail | None:
        """Return a log that was absent, with its previous state; None if the log was not absent."""
        tail = folder.absent.pop(name, None)
        if tail is not None and name in folder.missing and folder.missing[name].scans >= SCANS_UNTIL_MISSING:
            _log.info("%s is available again; reading continues at its last position", folder.files.display_path(name))
        return tail

    @staticmethod
    def _recognise(folder: Folder, identity: str, seen: set[str], new: set[str], now: float) -> None:
        """Decide whether the folder at the path is still the followed folder; a new mount changes a folder's identity.

        A folder that contains a known log is the followed folder. If no known log appears, the folder was created
        again, or its logs were deleted while no shipper ran. Such a folder is accepted if it has contained other logs
        for longer than an outage of a mount may last.
        """
        if not seen or identity == folder.identity:
            folder.replacement = None
        elif folder.replacement is None or folder.replacement.identity != identity:
            folder.replacement = ReplacementFolder(identity, now)
        if identity == folder.identity:
            return
        is_first = folder.identity is None and not folder.absent
        is_permanent = folder.replacement is not None and now - folder.replacement.since >= FORGET_SECONDS
        if is_first or is_permanent or seen - new - folder.new_in_replacement:
            folder.identity, folder.replacement = identity, None
            folder.new_in_replacement.clear()
        else:
            folder.new_in_replacement |= new

    def _count_missing(self, folder: Folder, seen: set[str], now: float) -> None:
        """For each known log, count the scans that did not find it.

        A log in a folder that cannot be listed does not count as missing.
        """
        for name in seen & folder.missing.keys():
            del folder.missing[name]
        for name in [*(folder.tails.keys() - seen), *folder.absent]:
            missing = folder.missing.get(name)
            if folder.is_hidden(name):
                if missing is not None:
                    missing.since = now
                continue
            if missing is None:
                missing = folder.missing[name] = MissingLog(0, now)
            missing.scans += 1
            if missing.scans == SCANS_UNTIL_MISSING:
                self._suspend(folder, name)

    def _suspend(self, folder: Folder, name: str) -> None:
        """Keep only the position of a deleted log; report the log if it was not completely sent."""
        tail = folder.absent.get(name) or folder.tails.pop(name)
        folder.absent[name] = tail
        if problem := _DELETED.get(tail.state):
            self._report_problem(problem)
            _log.warning("%s was %s was read", folder.files.display_path(name), problem)
        tail.suspend()

    @staticmethod
    def _restart_missing(folder: Folder, now: float) -> None:
        """Restart the time limit of missing logs, because this scan gives no information about these logs."""
        for missing in folder.missing.values():
            missing.since = now

    @staticmethod
    def _forget(folder: Folder, now: float) -> list[str]:
        forgotten = [name for name in folder.absent if _is_forgotten(folder.missing.get(name), now)]
        for name in forgotten:
            del folder.absent[name], folder.missing[name]
        return forgotten

    def _report_unlisted_root(self, folder: Folder, error: OSError) -> None:
        self._report_problem("unreadable")
        if not folder.has_failed:
            root = folder.files.display_path(folder.files.root)
            _log.warning("%s cannot be listed and will be retried: %s", root, error)
        folder.has_failed = True

    def states(self) -> dict[str, int]:
        """Return the number of logs in each state."""
        counts = dict.fromkeys(STORED_NAMES, 0)
        for _, tail in self.tails():
            counts[tail.state.stored_name] += 1
        return counts


def _is_forgotten(missing: MissingLog | None, now: float) -> bool:
    return missing is not None and missing.scans >= SCANS_UNTIL_MISSING and now - missing.since >= FORGET_SECONDS
