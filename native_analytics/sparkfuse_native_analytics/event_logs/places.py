"""Where logs lie: local folders, and everything that fsspec reads, behind the same few questions."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from sparkfuse_native_analytics.event_logs.log import LogUnreadable, OpenedLater, Piece

# fsspec names a package only for some protocols, and none for the names that Hadoop gives the same stores.
_PACKAGES = {
    "abfs": "adlfs", "abfss": "adlfs", "adl": "adlfs", "az": "adlfs", "gcs": "gcsfs", "gs": "gcsfs",
    "hdfs": "pyarrow with Hadoop's native library", "http": "aiohttp", "https": "aiohttp", "oss": "ossfs",
    "s3": "s3fs", "s3a": "s3fs", "s3n": "s3fs", "sftp": "paramiko", "wasb": "adlfs", "wasbs": "adlfs",
}  # fmt: skip
_CONTAINER_IS_USER = ("abfs", "abfss", "wasb", "wasbs")
_SAME_STORE = {"s3n": "s3", "wasb": "abfs", "wasbs": "abfs"}


@dataclass(frozen=True)
class Entry:
    """A file or folder: its own name, the path that its place knows it by, and its size in bytes."""

    name: str
    path: str
    is_folder: bool
    size_bytes: int


class Place(Protocol):
    """A file system. Every method raises LogUnreadable with one sentence."""

    def entry(self, path: str) -> Entry:
        """What is at ``path``."""
        ...

    def children(self, folder: Entry) -> list[Entry]:
        """What is in the folder, by name."""
        ...

    def identity(self, folder: Entry) -> str:
        """The same for two paths that lead to the same folder."""
        ...

    def piece(self, file: Entry) -> Piece:
        """The file as the kernel takes it; nothing is opened yet."""
        ...

    def shown(self, path: str) -> str:
        """The path as people read it, without credentials."""
        ...


def place_of(path: str) -> tuple[Place, str]:
    """The place that a path or URL lies in, and its path there. Raises LogUnreadable."""
    if path.startswith("file://"):
        return LocalPlace(), path.removeprefix("file://")
    if "://" not in path:
        return LocalPlace(), path
    return _remote(path)


class LocalPlace:
    """The machine's own files."""

    def entry(self, path: str) -> Entry:
        """What is at ``path``."""
        with _local_failures(path):
            found = os.stat(path)  # noqa: PTH116  the path as it was written, for people to find it again
            return Entry(Path(path).name, path, stat.S_ISDIR(found.st_mode), found.st_size)

    def children(self, folder: Entry) -> list[Entry]:
        """What is in the folder, by name; what vanishes meanwhile is left out."""
        with _local_failures(folder.path):
            names = sorted(os.listdir(folder.path))  # noqa: PTH208  names are all that is wanted
        paths = [os.path.join(folder.path, name) for name in names]  # noqa: PTH118  keeps the path as it was written
        return [self.entry(path) for path in paths if os.path.exists(path)]  # noqa: PTH110  the same

    def identity(self, folder: Entry) -> str:
        """Where the folder really is, whatever links lead to it."""
        return str(Path(folder.path).resolve())

    def piece(self, file: Entry) -> Piece:
        """A regular file by its path; a pipe by what reads it."""
        if stat.S_ISREG(Path(file.path).stat().st_mode):
            return file.path
        return file.path, OpenedLater(lambda: Path(file.path).open("rb"))

    def shown(self, path: str) -> str:
        """The path as it is."""
        return path


class RemotePlace:
    """A store that fsspec reads; files are streamed and never kept."""

    def __init__(self, files: Any, protocol: str) -> None:
        self._files, self._protocol = files, protocol

    def entry(self, path: str) -> Entry:
        """What is at ``path``."""
        with self._failures(path):
            return _entry(self._files.info(path))

    def children(self, folder: Entry) -> list[Entry]:
        """What is in the folder, by name."""
        with self._failures(folder.path):
            found = [_entry(each) for each in self._files.ls(folder.path, detail=True)]
        # Object stores list a folder among its own children when somebody made a mark for it.
        inside = [each for each in found if each.path.rstrip("/") != folder.path.rstrip("/")]
        return sorted(inside, key=lambda each: each.name)

    def identity(self, folder: Entry) -> str:
        """Its path: stores have no links."""
        return folder.path

    def piece(self, file: Entry) -> Piece:
        """What reads the file from its beginning."""
        return self.shown(file.path), OpenedLater(lambda: self._files.open(file.path, "rb"))

    def shown(self, path: str) -> str:
        """The URL without credentials."""
        return without_credentials(path if "://" in path else f"{self._protocol}://{path.lstrip('/')}")

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise LogUnreadable(f"{self.shown(path)}: there is no such file or folder") from error
        except Exception as error:
            # Each store's client has errors of its own; whoever asked reads this sentence.
            said = " ".join(str(error).split())[:300] or type(error).__name__
            raise LogUnreadable(f"{self.shown(path)}: cannot be read: {said}") from error


def without_credentials(url: str) -> str:
    """The URL without what may be a secret: user, password, and the query, which carries access signatures."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    # Azure's container stands where others have the user.
    kept = f"{user}@{host}" if user and parts.scheme in _CONTAINER_IS_USER and ":" not in user else host
    return urlunsplit((parts.scheme, kept, parts.path, "", ""))


def _remote(url: str) -> tuple[Place, str]:
    files, path = remote_files(url)
    return RemotePlace(files, url.partition("://")[0]), path


def remote_files(url: str) -> tuple[Any, str]:
    """Fsspec's file system of a URL, also under the names that Hadoop gives it, and the path there.

    Raises LogUnreadable.
    """
    protocol, _, rest = url.partition("://")
    known = _SAME_STORE.get(protocol, protocol)
    try:
        from fsspec.core import url_to_fs

        files, path = url_to_fs(f"{known}://{rest}")
    except ImportError as error:
        package = "fsspec" if error.name == "fsspec" else _PACKAGES.get(protocol, "")
        needs = f"install {package}" if package else " ".join(str(error).split())
        raise LogUnreadable(f"{without_credentials(url)}: cannot read {protocol}:// here: {needs}") from error
    except Exception as error:
        # Unknown protocols, broken configuration, no network: each store's client says it in its own way.
        said = " ".join(str(error).split())[:300] or type(error).__name__
        raise LogUnreadable(f"{without_credentials(url)}: cannot be opened: {said}") from error
    return files, path


def _entry(info: dict[str, Any]) -> Entry:
    path = str(info["name"])
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return Entry(name, path, info.get("type") == "directory", int(info.get("size") or 0))


@contextmanager
def _local_failures(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise LogUnreadable(f"{path}: there is no such file or folder") from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LogUnreadable(f"{path}: cannot be read: {reason.lower()}") from error
