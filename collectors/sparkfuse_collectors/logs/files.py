"""One interface to the folders that the shipper follows: local folders, and folders that fsspec can read."""

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
    """A file or folder.

    ``identity`` changes if another file gets the same name. In an object store, ``identity`` is empty.
    """

    name: str
    path: str
    is_folder: bool
    size_bytes: int
    modified_ms: int
    identity: str


class PrefetchedBytes(NamedTuple):
    """Bytes of a file, read ahead in one request, because each request costs a round trip."""

    path: str
    start: int
    content: bytes


class Files(Protocol):
    """A file system. Every method raises OSError if the file system does not answer."""

    @property
    def root(self) -> str:
        """The path of the followed folder in the file system."""
        ...

    def children(self, folder: str) -> Iterator[Item]:
        """Yield the entries of a folder in any order; entries that are deleted during the listing are skipped."""
        ...

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return at most ``size`` bytes from ``offset`` on, and none at the end of the file."""
        ...

    def identity(self, path: str) -> str:
        """Return the current ``Item.identity`` of the file."""
        ...

    def display_path(self, path: str) -> str:
        """Return the path for messages, without credentials."""
        ...


@dataclass(frozen=True)
class LocalFiles:
    """The files of this machine."""

    root: str

    def children(self, folder: str) -> Iterator[Item]:
        """Yield the entries of a folder."""
        with os.scandir(folder) as found:
            for entry in found:
                try:
                    facts = entry.stat()
                except FileNotFoundError:  # the file was deleted after the listing, or it is a broken link
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
        """Return at most ``size`` bytes from ``offset`` on."""
        with Path(path).open("rb", buffering=0) as file:
            file.seek(offset)
            return file.read(size)

    def identity(self, path: str) -> str:
        """Return the device and inode number of the file."""
        return _identity(Path(path).stat())

    def display_path(self, path: str) -> str:
        """Return the path unchanged."""
        return path


class RemoteFiles:
    """A store that fsspec supports."""

    def __init__(self, url: str) -> None:
        self._files, self._root = remote_files(url)
        self._protocol = url.partition("://")[0]
        # File sizes at the last scan. Stores refuse a read at the end of a file, so new bytes are read only after the
        # next scan.
        self._sizes: dict[str, int] = {}
        self._prefetched = PrefetchedBytes("", 0, b"")

    @property
    def root(self) -> str:
        """The part of the URL after the protocol."""
        return self._root

    def children(self, folder: str) -> Iterator[Item]:
        """Yield the entries of a folder."""
        # Store clients cache the listings of folders. A cached listing would hide that a log has grown.
        self._files.invalidate_cache(folder)
        for info in _with_os_errors(lambda: self._files.ls(folder, detail=True)):
            path = str(info["name"])
            if path.rstrip("/") != folder.rstrip("/"):  # skip the marker object of the folder itself
                item = _item(path, info)
                if self._sizes.get(path) != item.size_bytes:
                    self._sizes[path] = item.size_bytes
                    self._prefetched = PrefetchedBytes("", 0, b"")
                yield item

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return at most ``size`` bytes from ``offset`` on."""
        known = self._sizes.get(path, 0)
        if offset >= known:
            return b""
        prefetched = self._prefetched
        if prefetched.path != path or not prefetched.start <= offset < prefetched.start + len(prefetched.content):
            end = min(known, offset + max(size, READ_AHEAD))
            content: bytes = _with_os_errors(lambda: self._files.cat_file(path, start=offset, end=end))
            prefetched = self._prefetched = PrefetchedBytes(path, offset, content)
        return prefetched.content[offset - prefetched.start :][:size]

    def identity(self, path: str) -> str:  # noqa: ARG002  an object has no identity
        """Return an empty string: when a file grows, an object store replaces it, so no value identifies the file."""
        return ""

    def display_path(self, path: str) -> str:
        """Return the URL without credentials."""
        return without_credentials(path if "://" in path else f"{self._protocol}://{path.lstrip('/')}")


def files_of(place: str) -> Files:
    """Return the files of a local path or of a URL that fsspec supports. Raises UnreadableLogError."""
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
    # When a file grows, an object store writes a new object. So only the name stays the same, and the identity is
    # empty.
    return Item(name, path, is_folder, int(info.get("size") or 0), milliseconds, "")


def _with_os_errors(work: Callable[[], Any]) -> Any:
    """Call a client of fsspec and convert its own exceptions to OSError, which the caller retries."""
    try:
        return work()
    except OSError:
        raise
    except Exception as error:
        raise OSError(" ".join(str(error).split())[:300] or type(error).__name__) from error
