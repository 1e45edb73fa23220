"""Finds the logs behind a path: a file, a log of several files, or a folder of logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkfuse_native_analytics.event_logs.layouts import Layout, layout_of, may_be_log, without_doubles
from sparkfuse_native_analytics.event_logs.log import Log, LogUnreadable
from sparkfuse_native_analytics.event_logs.places import Entry, Place, place_of

# Databricks delivers to <cluster>/eventlog/<host>/<context>; a folder deeper than this is not searched.
MAX_DEPTH = 6


@dataclass
class Found:
    """The logs behind a path, in order, a sentence for each child that was passed over, and the folders searched."""

    logs: list[Log] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    searched: set[str] = field(default_factory=set)


def find_logs(path: str) -> Found:
    """Find the logs behind a local path or a URL that fsspec knows; nothing of them is read yet.

    A folder is one log (rolling, Spark 1.x, Databricks) or holds logs, each child one.
    Raises LogUnreadable when there is nothing, when it is empty, or when it cannot be reached.
    """
    place, inside = place_of(path)
    top = place.entry(inside)
    found = Found()
    if top.is_folder:
        _search(top, place, found, 0)
    else:
        _keep(_single(top, place), top.size_bytes == 0 and isinstance(place.piece(top), str), found)
    if found.logs:
        return found
    nothing = f"{place.shown(inside)}: there is no event log in this folder"
    raise LogUnreadable(found.passed_over[0] if len(found.passed_over) == 1 else nothing)


def _search(folder: Entry, place: Place, found: Found, depth: int) -> None:
    if (identity := place.identity(folder)) in found.searched:
        return
    found.searched.add(identity)
    children = place.children(folder)
    files = {child.name: child for child in children if not child.is_folder}
    layout = layout_of(folder.name, files)
    if layout is not None:
        log = _several(folder, layout, files, place)
        _keep(log, log.size_bytes == 0, found)
        return
    named = {child.name: child for child in children if may_be_log(child.name)}
    for name in without_doubles(list(named)):
        child = named[name]
        if not child.is_folder:
            _keep(_single(child, place), child.size_bytes == 0, found)
        elif depth < MAX_DEPTH:
            _search_child(child, place, found, depth + 1)


def _search_child(folder: Entry, place: Place, found: Found, depth: int) -> None:
    try:
        _search(folder, place, found, depth)
    except LogUnreadable as unreadable:
        found.passed_over.append(str(unreadable))


def _keep(log: Log, empty: bool, found: Found) -> None:
    if empty:
        found.passed_over.append(f"{log.name}: it is empty")
    else:
        found.logs.append(log)


def _single(file: Entry, place: Place) -> Log:
    return Log(place.shown(file.path), (place.piece(file),), file.size_bytes)


def _several(folder: Entry, layout: Layout, files: Mapping[str, Entry], place: Place) -> Log:
    pieces = [files[name] for name in layout.names]
    size_bytes = sum(each.size_bytes for each in pieces)
    return Log(place.shown(folder.path), tuple(map(place.piece, pieces)), size_bytes, layout.missing)
