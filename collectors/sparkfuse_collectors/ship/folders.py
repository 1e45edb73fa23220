"""All logs of all folders: what appears, grows, is renamed and goes away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, find_logs
from sparkfuse_collectors.ship.tail import LIVE, LogTail
from sparkfuse_collectors.ship.translate import Shipper
from sparkfuse_contracts.generated.position_pb2 import Position

# While a log is renamed, a look at its folder may see neither name.
LOOKS_UNTIL_GONE = 3
_log = logging.getLogger("sparkfuse.ship")


@dataclass(frozen=True)
class Ages:
    """What of a log that is seen for the first time is still news, in seconds since it changed last.

    ``ended``: a log that is closed; one in progress counts as abandoned behind ``abandoned``.
    """

    ended: float = 600.0
    abandoned: float = 86_400.0


@dataclass
class Folder:
    """One folder and its logs by name."""

    files: Files
    tails: dict[str, LogTail] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    failed: bool = False


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
        self._positions = dict(positions)
        self._looks = 0

    def tails(self) -> Iterator[tuple[Files, LogTail]]:
        """All logs, with where they lie."""
        for folder in self._folders:
            for tail in folder.tails.values():
                yield folder.files, tail

    def look(self, now: float) -> list[str]:
        """Look through all folders; the names of logs that are gone for good, of which nothing need be remembered."""
        gone: list[str] = []
        for folder in self._folders:
            try:
                seen = {found.name for found in self._look_into(folder, now)}
            except OSError as error:
                self._tell_failed(folder, error)
                continue
            folder.failed = False
            gone += self._gone(folder, seen)
        self._looks += 1
        if self._looks == LOOKS_UNTIL_GONE and not any(folder.failed for folder in self._folders):
            gone += self._gone_before()
        return gone

    def _gone_before(self) -> list[str]:
        """Logs of these folders that somebody deleted while no shipper ran."""
        roots = tuple(folder.files.root.rstrip("/") + "/" for folder in self._folders)
        gone = [name for name in self._positions if name.startswith(roots)]
        for name in gone:
            if self._positions.pop(name).state == LIVE:
                self._trouble("deleted before its end")
        return gone

    def _look_into(self, folder: Folder, now: float) -> Iterator[FoundLog]:
        for found in find_logs(folder.files):
            tail = folder.tails.get(found.name)
            if tail is None:
                tail = folder.tails[found.name] = self._meet(found, now)
            tail.saw(found, now)
            yield found

    def _meet(self, found: FoundLog, now: float) -> LogTail:
        position = self._positions.pop(found.name, None)
        tail = LogTail(found.name, self._shipper, position)
        tail.found = found
        age = now - found.modified_ms / 1000
        if position is None and age > (self._ages.abandoned if found.closed is False else self._ages.ended):
            tail.only_history()
        return tail

    def _gone(self, folder: Folder, seen: set[str]) -> list[str]:
        gone = []
        for name in [name for name in folder.tails if name not in seen]:
            folder.missing[name] = folder.missing.get(name, 0) + 1
            if folder.missing[name] >= LOOKS_UNTIL_GONE:
                tail = folder.tails.pop(name)
                del folder.missing[name]
                gone.append(name)
                if tail.state == LIVE:
                    self._trouble("deleted before its end")
                    _log.warning("%s was deleted before its end was read", folder.files.shown(name))
        for name in [name for name in folder.missing if name in seen]:
            del folder.missing[name]
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
