"""Finds the logs in a folder, and gives each log a name that stays the same while the log grows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files, Item
from sparkfuse_kernel.event_logs.find import MAX_DEPTH
from sparkfuse_kernel.event_logs.layouts import layout_of, may_be_log, without_duplicates

IN_PROGRESS = ".inprogress"
OnUnlisted = Callable[[str, OSError], None]
_ROLLED = re.compile(r"events_(\d+)_.*?(\.compact)?")


class Part(NamedTuple):
    """One file of a log. ``number`` orders the files: Spark's number of a rolled file, otherwise its index."""

    number: int
    path: str
    size_bytes: int
    identity: str
    compacted: bool = False


class FoundLog(NamedTuple):
    """A log as it appears in the current listing of its folder.

    ``name`` is the log's path without the suffix that changes when the log is finished. ``place`` is the current path.
    ``closed`` is True if the writer has finished the log, None if the log's files do not show whether it has.
    ``modified_ms`` is the time of the last change of a file of the log.
    """

    name: str
    place: str
    parts: tuple[Part, ...]
    closed: bool | None
    modified_ms: int


def find_logs(files: Files, on_unlisted: OnUnlisted = lambda _folder, _error: None) -> Iterator[FoundLog]:
    """Yield the logs below the root, each with its files in order. Raises OSError if the root cannot be listed.

    ``on_unlisted`` is called with each folder below the root that cannot be listed now.
    """
    yield from _search(files, files.root, files.root.rstrip("/").rsplit("/", 1)[-1], 0, on_unlisted)


def _search(files: Files, folder: str, name: str, depth: int, on_unlisted: OnUnlisted) -> Iterator[FoundLog]:
    children = {child.name: child for child in files.children(folder)}
    own = {child.name: child for child in children.values() if not child.is_folder}
    layout = layout_of(name, own)
    if layout is not None:
        if layout.names:
            yield _several(folder, [own[part] for part in layout.names], own)
        return
    candidates = [child for child in children if may_be_log(child)]
    for child in without_duplicates(candidates):
        item = children[child]
        if not item.is_folder:
            if item.size_bytes:
                yield _single(item)
        elif depth < MAX_DEPTH:
            yield from _subfolder(files, item, depth + 1, on_unlisted)


def _subfolder(files: Files, item: Item, depth: int, on_unlisted: OnUnlisted) -> Iterator[FoundLog]:
    """Search a folder; a folder that cannot be listed now does not stop the search."""
    try:
        yield from list(_search(files, item.path, item.name, depth, on_unlisted))
    except FileNotFoundError:
        return  # the folder was deleted after its parent was listed
    except OSError as error:
        on_unlisted(item.path, error)


def _single(item: Item) -> FoundLog:
    name = item.path.removesuffix(IN_PROGRESS)
    part = Part(0, item.path, item.size_bytes, item.identity)
    return FoundLog(name, item.path, (part,), name == item.path, item.modified_ms)


def _several(folder: str, items: list[Item], own: Mapping[str, Item]) -> FoundLog:
    parts = tuple(_part(place, item) for place, item in enumerate(items))
    return FoundLog(folder, folder, parts, _closed(own), max(item.modified_ms for item in own.values()))


def _part(place: int, item: Item) -> Part:
    rolled = _ROLLED.fullmatch(item.name)
    number = int(rolled[1]) if rolled else place
    return Part(number, item.path, item.size_bytes, item.identity, bool(rolled and rolled[2]))


def _closed(names: Mapping[str, Item]) -> bool | None:
    if "APPLICATION_COMPLETE" in names:
        return True
    marks = [name for name in names if name.startswith("appstatus_")]
    return any(not name.endswith(IN_PROGRESS) for name in marks) if marks else None
