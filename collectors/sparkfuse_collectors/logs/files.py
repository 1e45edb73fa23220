"""Where logs lie: local folders, and everything that fsspec reads, behind the same three questions."""

from __future__ import annotations

import datetime as dt
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sparkfuse_kernel.event_logs.file_systems import remote_files, without_credentials
from sparkfuse_kernel.event_logs.log import UnreadableLogError

READ_AHEAD = 1024 * 1024


class Item(NamedTuple):
    """A file or folder. ``identity`` changes when another file takes the name, where the place can tell; else empty."""

    name: str
    path: str
    is_folder: bool
    size_bytes: int
    modified_ms: int
    identity: str


class Ahead(NamedTuple):
    """Bytes of a file that were read in one request, because each costs a journey."""

    path: str
    begin: int
    content: bytes


class Files(Protocol):
    """A file system. Every method raises OSError when it cannot answer."""

    @property
    def root(self) -> str:
        """The folder that is followed, as its place names it."""
        ...

    def children(self, folder: str) -> Iterator[Item]:
        """What is in a folder, in no order; what vanishes meanwhile is left out."""
        ...

    def read(self, path: str, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset`` on; empty at the end of the file."""
        ...

    def identity(self, path: str) -> str:
        """What ``Item.identity`` of the file is now."""
        ...

    def shown(self, path: str) -> str:
        """The path as people read it, without credentials."""
        ...


@dataclass(frozen=True)
class LocalFiles:
    """The machine's own files."""

    root: str

    def children(self, folder: str) -> Iterator[Item]:
        """What is in a folder."""
        with os.scandir(folder) as found:
            for entry in found:
                try:
                    facts = entry.stat()
                except FileNotFoundError:  # gone since it was listed, or a link to nowhere
                    continue
                if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode):
                    yield Item(
                        entry.name,
                        entry.path,
                        stat.S_ISDIR(facts.st_mode),
                        facts.st_size,
                        facts.st_mtime_ns // 1_000_000,
                        _identity(facts),
                    )

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Some bytes of a file."""
        with Path(path).open("rb", buffering=0) as file:
            file.seek(offset)
            return file.read(size)

    def identity(self, path: str) -> str:
        """Device and inode."""
        return _identity(Path(path).stat())

    def shown(self, path: str) -> str:
        """The path as it is."""
        return path


class RemoteFiles:
    """A store that fsspec reads."""

    def __init__(self, url: str) -> None:
        self._files, self._root = remote_files(url)
        self._protocol = url.partition("://")[0]
        # As the last look had them: stores refuse to read at the end of a file; what grew since is for the next look.
        self._sizes: dict[str, int] = {}
        self._ahead = Ahead("", 0, b"")

    @property
    def root(self) -> str:
        """The path behind the protocol."""
        return self._root

    def children(self, folder: str) -> Iterator[Item]:
        """What is in a folder."""
        # Clients of stores remember what they listed, which a follower of growing logs must not see.
        self._files.invalidate_cache(folder)
        for info in _told(lambda: self._files.ls(folder, detail=True)):
            path = str(info["name"])
            if path.rstrip("/") != folder.rstrip("/"):  # a mark that somebody made for the folder itself
                item = _item(path, info)
                if self._sizes.get(path) != item.size_bytes:
                    self._sizes[path] = item.size_bytes
                    self._ahead = Ahead("", 0, b"")
                yield item

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Some bytes of a file."""
        known = self._sizes.get(path, 0)
        if offset >= known:
            return b""
        ahead = self._ahead
        if ahead.path != path or not ahead.begin <= offset < ahead.begin + len(ahead.content):
            end = min(known, offset + max(size, READ_AHEAD))
            content: bytes = _told(lambda: self._files.cat_file(path, start=offset, end=end))
            ahead = self._ahead = Ahead(path, offset, content)
        return ahead.content[offset - ahead.begin :][:size]

    def identity(self, path: str) -> str:  # noqa: ARG002  an object has none
        """Nothing: a store writes an object anew to make it longer."""
        return ""

    def shown(self, path: str) -> str:
        """The URL without credentials."""
        return without_credentials(path if "://" in path else f"{self._protocol}://{path.lstrip('/')}")


def files_of(place: str) -> Files:
    """The files behind a local path or a URL that fsspec knows. Raises UnreadableLogError."""
    if "://" in place and not place.startswith("file://"):
        return RemoteFiles(place)
    folder = Path(place.removeprefix("file://"))
    if not folder.is_dir():
        raise UnreadableLogError(f"{folder}: there is no such folder")
    return LocalFiles(str(folder.absolute()))


def _identity(facts: os.stat_result) -> str:
    return f"{facts.st_dev}:{facts.st_ino}"


def _item(path: str, info: dict[str, Any]) -> Item:
    modified = info.get("mtime", info.get("LastModified", info.get("last_modified", info.get("updated"))))
    seconds = modified.timestamp() if isinstance(modified, dt.datetime) else modified
    name = path.rstrip("/").rsplit("/", 1)[-1]
    is_folder = info.get("type") == "directory"
    milliseconds = round(float(seconds) * 1000) if isinstance(seconds, int | float) else 0
    # An object store writes an object anew to make it longer, so nothing but its name stays.
    return Item(name, path, is_folder, int(info.get("size") or 0), milliseconds, "")


def _told(work: Callable[[], Any]) -> Any:
    """What a store's client gives; each has errors of its own, and whoever asked retries them alike."""
    try:
        return work()
    except OSError:
        raise
    except Exception as error:
        raise OSError(" ".join(str(error).split())[:300] or type(error).__name__) from error
