"""Finds the event logs of a path: a file, a log of several files, or a folder of logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkfuse_kernel.event_logs.file_systems import Entry, FileSystem, file_system_of
from sparkfuse_kernel.event_logs.layouts import Layout, layout_of, may_be_log, without_duplicates
from sparkfuse_kernel.event_logs.log import Log, UnreadableLogError

# Folders deeper than this are not searched; Databricks delivers logs to <cluster>/eventlog/<host>/<context>.
MAX_DEPTH = 6


@dataclass
class FoundLogs:
    """The logs of a path in order, one sentence for each log or folder that was skipped, and the folders searched."""

    logs: list[Log] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    searched: set[str] = field(default_factory=set)


def find_logs(path: str) -> FoundLogs:
    """Find the logs of a local path or of a URL that fsspec supports, without reading them.

    A folder is either one log (rolling, Spark 1.x, Databricks), or each of its children is searched for logs. Raises
    UnreadableLogError if there is no log, if the log is empty, or if the path cannot be reached.
    """
    file_system, inside = file_system_of(path)
    top = file_system.entry(inside)
    found = FoundLogs()
    if top.is_folder:
        _search(top, file_system, found, 0)
    else:
        is_empty = top.size_bytes == 0 and isinstance(file_system.piece(top), str)
        _add(_single_file_log(top, file_system), is_empty, found)
    if found.logs:
        return found
    nothing = f"{file_system.display_path(inside)}: there is no event log in this folder"
    raise UnreadableLogError(found.skipped[0] if len(found.skipped) == 1 else nothing)


def _search(folder: Entry, file_system: FileSystem, found: FoundLogs, depth: int) -> None:
    if (identity := file_system.identity(folder)) in found.searched:
        return
    found.searched.add(identity)
    children = file_system.children(folder)
    files = {child.name: child for child in children if not child.is_folder}
    layout = layout_of(folder.name, files)
    if layout is not None:
        log = _multi_file_log(folder, layout, files, file_system)
        _add(log, log.size_bytes == 0, found)
        return
    candidates = {child.name: child for child in children if may_be_log(child.name)}
    for name in without_duplicates(list(candidates)):
        child = candidates[name]
        if not child.is_folder:
            _add(_single_file_log(child, file_system), child.size_bytes == 0, found)
        elif depth < MAX_DEPTH:
            _search_child(child, file_system, found, depth + 1)


def _search_child(folder: Entry, file_system: FileSystem, found: FoundLogs, depth: int) -> None:
    try:
        _search(folder, file_system, found, depth)
    except UnreadableLogError as error:
        found.skipped.append(str(error))


def _add(log: Log, is_empty: bool, found: FoundLogs) -> None:
    if is_empty:
        found.skipped.append(f"{log.name}: it is empty")
    else:
        found.logs.append(log)


def _single_file_log(file: Entry, file_system: FileSystem) -> Log:
    return Log(file_system.display_path(file.path), (file_system.piece(file),), file.size_bytes)


def _multi_file_log(folder: Entry, layout: Layout, files: Mapping[str, Entry], file_system: FileSystem) -> Log:
    pieces = [files[name] for name in layout.names]
    size_bytes = sum(each.size_bytes for each in pieces)
    name = file_system.display_path(folder.path)
    return Log(name, tuple(map(file_system.piece, pieces)), size_bytes, layout.missing)
