"""All logs of all folders: what appears, grows, is renamed and goes away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, find_logs
from sparkfuse_collectors.ship.tail import DONE, LIVE, WATCHED, LogTail
from sparkfuse_collectors.ship.translate import Shipper
from sparkfuse_contracts.generated.position_pb2 import Position

# While a log is renamed, a look at its folder may see neither name.
LOOKS_UNTIL_GONE = 3
# A part of a folder that is away, a mount below it, lists as empty and is back within hours. To forget where its logs
# stand would send them all again from their beginnings, and to remember them costs about a kilobyte each.
FORGET_SECONDS = 6 * 3600.0
_DELETED = {LIVE: "deleted before its end", WATCHED: "deleted before its history"}
_log = logging.getLogger("sparkfuse.ship")


@dataclass(frozen=True)
class Ages:
    """What of a log is still news, in seconds since it changed last.

    ``ended``: a log that is closed, when it is seen for the first time; one that is not closed counts as abandoned
    behind ``abandoned``, whenever that is.
    """

    ended: float = 600.0
    abandoned: float = 86_400.0


@dataclass
class Missing:
    """A log that is not where it was: how many looks missed it, and since when, by looks that could have seen it."""

    looks: int
    since: float


@dataclass
class Other:
    """What lies where the folder was, and since when each look has shown logs in it."""

    identity: str
    since: float


@dataclass
class Folder:
    """One folder and its logs by name: ``tails`` that lie there, and ``away`` where it stands with those that do not.

    ``identity`` is that of the root when it last showed a log that was known before, ``strangers`` the logs that were
    first met below another one, ``other``. ``unlisted`` are folders that could not be listed at the last look.
    """

    files: Files
    tails: dict[str, LogTail] = field(default_factory=dict)
    away: dict[str, LogTail] = field(default_factory=dict)
    missing: dict[str, Missing] = field(default_factory=dict)
    identity: str | None = None
    other: Other | None = None
    strangers: set[str] = field(default_factory=set)
    unlisted: set[str] = field(default_factory=set)
    failed: bool = False

    @property
    def prefix(self) -> str:
        """What the names of its logs begin with, unless it is a log itself."""
        return self.files.root.rstrip("/") + "/"

    def holds(self, name: str) -> bool:
        """Whether it is the log of this name, as the folder of a rolled log is, or the log lies below it."""
        return name.rstrip("/") + "/" == self.prefix or name.startswith(self.prefix)

    def is_hidden(self, name: str) -> bool:
        """Whether the log, or a folder above it and below the root, could not be listed."""
        while self.unlisted and name.startswith(self.prefix):
            if name in self.unlisted:
                return True
            name = name.rpartition("/")[0]
        return False


class Folders:
    """The logs that are followed. ``trouble`` is told what goes wrong, by kind."""

    def __init__(
        self,
        files: list[Files],
        shipper: Shipper,
        positions: Mapping[str, Position],
        ages: Ages,
        trouble: Callable[[str], None],
    ) -> None:
        self._folders = [Folder(each) for each in files]
        self._shipper, self._ages, self._trouble = shipper, ages, trouble
        for name, position in positions.items():
            self._expect(name, position)

    def _expect(self, name: str, position: Position) -> None:
        """A log of an earlier start, which is away until it is seen."""
        folder = next((folder for folder in self._folders if folder.holds(name)), None)
        if folder is not None:
            folder.away[name] = LogTail(name, self._shipper, position, self._ages.abandoned)
            # Of what was done its position may go sooner: were it back, only its history would be sent once more. Of
            # others facts would come twice, so they are away from their first look on.
            if position.state == DONE and position.updated_ms:
                folder.missing[name] = Missing(0, position.updated_ms / 1000)

    def tails(self) -> Iterator[tuple[Files, LogTail]]:
        """All logs that lie there, with where that is."""
        for folder in self._folders:
            for tail in folder.tails.values():
                yield folder.files, tail

    def look(self, now: float) -> list[str]:
        """Look through all folders; the names of logs that are gone for good, of which nothing need be remembered."""
        gone: list[str] = []
        for folder in self._folders:
            try:
                identity = folder.files.identity(folder.files.root)
                seen, fresh = self._look_into(folder, now)
            except OSError as error:
                self._tell_failed(folder, error)
                folder.other = None
                self._hold(folder, now)
                continue
            folder.failed = False
            self._recognise(folder, identity, seen, fresh, now)
            self._miss(folder, seen, now)
            # A mount that is away leaves its mount point: a folder that lists as empty, or one that is another and
            # holds what somebody wrote there meanwhile. Neither says anything of the logs that were there.
            if not seen or folder.identity != identity:
                self._hold(folder, now)
            gone += self._forget(folder, now)
        return gone

    def _look_into(self, folder: Folder, now: float) -> tuple[set[str], set[str]]:
        """Tell the logs what the folder says of them; the names of all, and of those that were never seen before."""
        unlisted: dict[str, OSError] = {}
        seen, fresh = set[str](), set[str]()
        for found in find_logs(folder.files, unlisted.__setitem__):
            tail = folder.tails.get(found.name) or self._back(folder, found.name)
            if tail is None:
                tail = self._meet(found, now)
                fresh.add(found.name)
            folder.tails[found.name] = tail
            tail.saw(found, now)
            seen.add(found.name)
        for path, error in unlisted.items():
            self._trouble("unreadable")
            if path.rstrip("/") not in folder.unlisted:
                _log.warning("%s cannot be listed, trying on: %s", folder.files.shown(path), error)
        folder.unlisted = {path.rstrip("/") for path in unlisted}
        return seen, fresh

    def _meet(self, found: FoundLog, now: float) -> LogTail:
        tail = LogTail(found.name, self._shipper, abandoned=self._ages.abandoned)
        tail.found = found
        age = now - found.modified_ms / 1000
        # Of a store that tells no times, what is in progress may be news; it counts as abandoned when it stands still.
        is_ageless = found.closed is False and not found.modified_ms
        if not is_ageless and age > (self._ages.abandoned if found.closed is False else self._ages.ended):
            tail.only_history()
        return tail

    @staticmethod
    def _back(folder: Folder, name: str) -> LogTail | None:
        """A log that was away, as it stood then."""
        tail = folder.away.pop(name, None)
        if tail is not None and name in folder.missing and folder.missing[name].looks >= LOOKS_UNTIL_GONE:
            _log.info("%s is back and goes on where it was", folder.files.shown(name))
        return tail

    @staticmethod
    def _recognise(folder: Folder, identity: str, seen: set[str], fresh: set[str], now: float) -> None:
        """Whether this is the folder that was known is told by any of its logs, for a mount changes its identity.

        Where none of them is seen again, somebody made the folder anew, or all of its logs were deleted while no
        shipper ran: what shows other logs for as long as a mount may be away is the folder from then on.
        """
        if not seen or identity == folder.identity:
            folder.other = None
        elif folder.other is None or folder.other.identity != identity:
            folder.other = Other(identity, now)
        if identity == folder.identity:
            return
        is_first = folder.identity is None and not folder.away
        has_stayed = folder.other is not None and now - folder.other.since >= FORGET_SECONDS
        if is_first or has_stayed or seen - fresh - folder.strangers:
            folder.identity, folder.other = identity, None
            folder.strangers.clear()
        else:
            folder.strangers |= fresh

    def _miss(self, folder: Folder, seen: set[str], now: float) -> None:
        """Count looks that missed a log; what lies where nobody can look is not missed."""
        for name in seen & folder.missing.keys():
            del folder.missing[name]
        for name in [*(folder.tails.keys() - seen), *folder.away]:
            missing = folder.missing.get(name)
            if folder.is_hidden(name):
                if missing is not None:
                    missing.since = now
                continue
            if missing is None:
                missing = folder.missing[name] = Missing(0, now)
            missing.looks += 1
            if missing.looks == LOOKS_UNTIL_GONE:
                self._put_away(folder, name)

    def _put_away(self, folder: Folder, name: str) -> None:
        """It is not only being renamed: tell what was lost with it, and keep no more than where it stands."""
        tail = folder.away.get(name) or folder.tails.pop(name)
        folder.away[name] = tail
        if trouble := _DELETED.get(tail.state):
            self._trouble(trouble)
            _log.warning("%s was %s was read", folder.files.shown(name), trouble)
        tail.put_away()

    @staticmethod
    def _hold(folder: Folder, now: float) -> None:
        """Nothing can be said of what is missing: the time to forget it begins anew."""
        for missing in folder.missing.values():
            missing.since = now

    @staticmethod
    def _forget(folder: Folder, now: float) -> list[str]:
        gone = [name for name in folder.away if _is_forgotten(folder.missing.get(name), now)]
        for name in gone:
            del folder.away[name], folder.missing[name]
        return gone

    def _tell_failed(self, folder: Folder, error: OSError) -> None:
        self._trouble("unreadable")
        if not folder.failed:
            _log.warning("%s cannot be listed, trying on: %s", folder.files.shown(folder.files.root), error)
        folder.failed = True

    def states(self) -> dict[str, int]:
        """How many logs there are in each state."""
        counts = dict.fromkeys(("live", "watched", "done", "set aside"), 0)
        for _, tail in self.tails():
            counts[tail.state] += 1
        return counts


def _is_forgotten(missing: Missing | None, now: float) -> bool:
    return missing is not None and missing.looks >= LOOKS_UNTIL_GONE and now - missing.since >= FORGET_SECONDS
