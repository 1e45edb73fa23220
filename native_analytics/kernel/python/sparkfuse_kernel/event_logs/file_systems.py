"""One interface for all file systems that contain logs: the local one, and those that fsspec supports."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from sparkfuse_kernel.event_logs.log import LazyFile, Piece, UnreadableLogError

# The package to install for a protocol: fsspec names the package for some protocols only, and for none of Hadoop's
# protocol names.
_PACKAGES = {
    "abfs": "adlfs", "abfss": "adlfs", "adl": "adlfs", "az": "adlfs", "gcs": "gcsfs", "gs": "gcsfs",
    "hdfs": "pyarrow with Hadoop's native library", "http": "aiohttp", "https": "aiohttp", "oss": "ossfs",
    "s3": "s3fs", "s3a": "s3fs", "s3n": "s3fs", "sftp": "paramiko", "wasb": "adlfs", "wasbs": "adlfs",
}  # fmt: skip
_CONTAINER_IS_USER = ("abfs", "abfss", "wasb", "wasbs")
_SAME_STORE = {"s3n": "s3", "wasb": "abfs", "wasbs": "abfs"}


@dataclass(frozen=True)
class Entry:
    """A file or folder: its name, its path in the file system, and its size in bytes."""

    name: str
    path: str
    is_folder: bool
    size_bytes: int


class FileSystem(Protocol):
    """A file system. If a path cannot be read, every method raises UnreadableLogError with one sentence."""

    def entry(self, path: str) -> Entry:
        """Return the file or folder at ``path``."""
        ...

    def children(self, folder: Entry) -> list[Entry]:
        """Return the entries of the folder, ordered by name."""
        ...

    def identity(self, folder: Entry) -> str:
        """Return a string that is the same for all paths that lead to this folder."""
        ...

    def piece(self, file: Entry) -> Piece:
        """Return the file in the form that the kernel reads, without opening it."""
        ...

    def display_path(self, path: str) -> str:
        """Return the path for messages, without credentials."""
        ...


def file_system_of(path: str) -> tuple[FileSystem, str]:
    """Return the file system of a path or URL, and the path inside it. Raises UnreadableLogError."""
    if path.startswith("file://"):
        return LocalFileSystem(), path.removeprefix("file://")
    if "://" not in path:
        return LocalFileSystem(), path
    return _remote(path)


class LocalFileSystem:
    """The files of this machine."""

    def entry(self, path: str) -> Entry:
        """Return the file or folder at ``path``."""
        with _local_errors(path):
            found = os.stat(path)  # noqa: PTH116  keeps the path as the user wrote it
            return Entry(Path(path).name, path, stat.S_ISDIR(found.st_mode), found.st_size)

    def children(self, folder: Entry) -> list[Entry]:
        """Return the entries of the folder, ordered by name; an entry that has just been deleted is left out."""
        with _local_errors(folder.path):
            names = sorted(os.listdir(folder.path))  # noqa: PTH208  only names are needed
        paths = [os.path.join(folder.path, name) for name in names]  # noqa: PTH118  keeps the path as the user wrote it
        return [self.entry(path) for path in paths if os.path.exists(path)]  # noqa: PTH110  the same

    def identity(self, folder: Entry) -> str:
        """Return the folder's path with links resolved."""
        return str(Path(folder.path).resolve())

    def piece(self, file: Entry) -> Piece:
        """Return the path of a regular file; for a pipe, return its path and a reader."""
        if stat.S_ISREG(Path(file.path).stat().st_mode):
            return file.path
        return file.path, LazyFile(lambda: Path(file.path).open("rb"))

    def display_path(self, path: str) -> str:
        """Return the path unchanged."""
        return path


class RemoteFileSystem:
    """A remote store that fsspec supports; files are streamed and not stored on disk."""

    def __init__(self, files: Any, protocol: str) -> None:
        self._files, self._protocol = files, protocol

    def entry(self, path: str) -> Entry:
        """Return the file or folder at ``path``."""
        with self._errors(path):
            return _entry(self._files.info(path))

    def children(self, folder: Entry) -> list[Entry]:
        """Return the entries of the folder, ordered by name."""
        with self._errors(folder.path):
            found = [_entry(each) for each in self._files.ls(folder.path, detail=True)]
        # Object stores list a folder among its own children if it has a marker object.
        inside = [each for each in found if each.path.rstrip("/") != folder.path.rstrip("/")]
        return sorted(inside, key=lambda each: each.name)

    def identity(self, folder: Entry) -> str:
        """Return the folder's path, because remote stores have no links."""
        return folder.path

    def piece(self, file: Entry) -> Piece:
        """Return the file's path for messages, and a reader."""
        return self.display_path(file.path), LazyFile(lambda: self._files.open(file.path, "rb"))

    def display_path(self, path: str) -> str:
        """Return the URL without credentials."""
        return without_credentials(path if "://" in path else f"{self._protocol}://{path.lstrip('/')}")

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise UnreadableLogError(f"{self.display_path(path)}: there is no such file or folder") from error
        except Exception as error:
            # Each client raises exceptions of its own; the caller reports this message.
            message = " ".join(str(error).split())[:300] or type(error).__name__
            raise UnreadableLogError(f"{self.display_path(path)}: cannot be read: {message}") from error


def without_credentials(url: str) -> str:
    """Remove user, password and query from a URL, because a query may contain an access signature."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    # In Azure's URLs, the name of the container is at the place of the user.
    kept = f"{user}@{host}" if user and parts.scheme in _CONTAINER_IS_USER and ":" not in user else host
    return urlunsplit((parts.scheme, kept, parts.path, "", ""))


def _remote(url: str) -> tuple[FileSystem, str]:
    files, path = remote_files(url)
    return RemoteFileSystem(files, url.partition("://")[0]), path


def remote_files(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path inside it; Hadoop's protocol names are accepted.

    Raises UnreadableLogError.
    """
    protocol, _, rest = url.partition("://")
    known = _SAME_STORE.get(protocol, protocol)
    try:
        from fsspec.core import url_to_fs

        files, path = url_to_fs(f"{known}://{rest}")
    except ImportError as error:
        package = "fsspec" if error.name == "fsspec" else _PACKAGES.get(protocol, "")
        needs = f"install {package}" if package else " ".join(str(error).split())
        raise UnreadableLogError(f"{without_credentials(url)}: cannot read {protocol}:// here: {needs}") from error
    except Exception as error:
        # Causes are an unknown protocol, a wrong configuration or no network; each client raises exceptions of its own.
        message = " ".join(str(error).split())[:300] or type(error).__name__
        raise UnreadableLogError(f"{without_credentials(url)}: cannot be opened: {message}") from error
    return files, path


def _entry(info: dict[str, Any]) -> Entry:
    path = str(info["name"])
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return Entry(name, path, info.get("type") == "directory", int(info.get("size") or 0))


@contextmanager
def _local_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise UnreadableLogError(f"{path}: there is no such file or folder") from error
    except (OSError, ValueError) as error:  # a null character in the path raises ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableLogError(f"{path}: cannot be read: {reason.lower()}") from error
