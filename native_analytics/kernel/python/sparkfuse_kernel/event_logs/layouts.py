"""Layouts of logs that consist of several files: which files of a folder belong to the log, and their order.

Sources: Spark's EventLogFileWriters and EventLogFileReaders (3.0 to 4.x), EventLoggingListener of Spark 1.0 to 1.2,
and the log delivery of Databricks' clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ROLLING_FOLDER = "eventlog_v2_"
_COMPACTED = ".compact"
_ROLLED = re.compile(r"events_(\d+)_.*")
_FIRST_SPARK = re.compile(r"EVENT_LOG_(\d+)")
_DELIVERED = re.compile(r"eventlog-\d{4}-\d{2}-\d{2}--\d{2}-\d{2}.*")
_DELIVERED_LAST = "eventlog"
# The largest number of missing files that are listed, in case a file name contains a huge index.
MAX_GAP = 10_000
# Files in log folders that are not logs: hidden files, and marker and checksum files of Spark and Hadoop.
_NO_LOG = re.compile(r"[._].*|.*\.crc|appstatus_.*|SPARK_VERSION_.*|COMPRESSION_CODEC_.*|APPLICATION_COMPLETE")


@dataclass(frozen=True)
class Layout:
    """The names of a log's files in order, and the names of files that are missing in the sequence."""

    names: tuple[str, ...]
    missing: tuple[str, ...] = ()


def layout_of(folder: str, names: Iterable[str]) -> Layout | None:
    """Return the layout of a folder that is one log; None for any other folder.

    ``folder`` is the folder's name, ``names`` are the names of its files.
    """
    known = sorted(names)
    return _rolling(known) or _first_spark(known) or _delivered(known) or (Layout(()) if _is_rolling(folder) else None)


def may_be_log(name: str) -> bool:
    """Whether a file or folder of this name may be a log; hidden files, markers and checksums are no logs."""
    return not _NO_LOG.fullmatch(name)


def without_duplicates(names: Sequence[str]) -> list[str]:
    """Leave out each `.inprogress` file whose finished log is also listed, because object stores may keep both."""
    known = set(names)
    return [name for name in names if not (name.endswith(".inprogress") and name.removesuffix(".inprogress") in known)]


def _is_rolling(folder: str) -> bool:
    return folder.startswith(ROLLING_FOLDER)


def _rolling(names: Sequence[str]) -> Layout | None:
    """Order files by index; a compacted file replaces all files up to and including its index."""
    rolled = sorted(
        (int(found[1]), name.endswith(_COMPACTED), name) for name in names if (found := _ROLLED.fullmatch(name))
    )
    if not rolled:
        return None
    compacted = max((place for place, (_, is_compacted, _) in enumerate(rolled) if is_compacted), default=None)
    kept = rolled if compacted is None else rolled[compacted:]
    indices = {index for index, _, _ in kept}
    first = 1 if compacted is None else kept[0][0]
    gaps = [index for index in range(first, min(max(indices), first + MAX_GAP) + 1) if index not in indices]
    return Layout(tuple(name for _, _, name in kept), tuple(f"events_{index}" for index in gaps))


def _first_spark(names: Sequence[str]) -> Layout | None:
    found = sorted((int(match[1]), name) for name in names if (match := _FIRST_SPARK.fullmatch(name)))
    return Layout(tuple(name for _, name in found)) if found else None


def _delivered(names: Sequence[str]) -> Layout | None:
    """Order a Databricks delivery: rotated files by the time in their names, then the file being written."""
    earlier = [name for name in names if _DELIVERED.fullmatch(name)]
    last = [name for name in names if name == _DELIVERED_LAST]
    return Layout((*earlier, *last)) if earlier or last else None
