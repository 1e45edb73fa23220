"""Finds the files of each log and their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def find_logs(paths: Iterable[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """Yield every log at or below these paths: its path, and its files in order."""
    for path in paths:
        yield from _below(path) if path.is_dir() else [(path, [path])]


def _below(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    here = sorted(folder.iterdir())
    files = [path for path in here if path.is_file() and path.suffix not in {".md", ".crc"} and path.name[0] != "."]
    parts = [path for path in files if path.name.startswith("eventlog-")]
    if folder.name.startswith("eventlog_v2_"):
        yield folder, list(rolling_order(files))
    elif folder / "eventlog" in files and parts:
        yield folder, [*parts, folder / "eventlog"]
    elif any(path.name.startswith("EVENT_LOG_") for path in files):
        yield folder, [path for path in files if path.name.startswith("EVENT_LOG_")]
    else:
        yield from ((path, [path]) for path in files)
    for path in here:
        if path.is_dir():
            yield from _below(path)


def rolling_order(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of a rolling log to read: the last compacted one, if any, and all later ones."""
    numbered = []
    for path in paths:
        found = re.match(r"events_([0-9]+)_", path.name)
        if found:
            numbered.append((int(found[1]), path.name.endswith(".compact"), path))
    first = max((number for number, compact, _ in numbered if compact), default=0)
    for number, compact, path in sorted(numbered):
        if number > first or (number == first and compact):
            yield path
