"""How writers lay out a log of several files: which files of a folder are the log, and in which order.

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
# A wild index must not make a list of all that it leaves out.
MAX_GAP = 10_000
# What lies beside logs and is none: Spark's and Hadoop's own marks and checksums.
_NO_LOG = re.compile(r"[._].*|.*\.crc|appstatus_.*|SPARK_VERSION_.*|COMPRESSION_CODEC_.*|APPLICATION_COMPLETE")


@dataclass(frozen=True)
class Layout:
    """The names of a log's files in order, and the names of those that should be among them and are not."""

    names: tuple[str, ...]
    missing: tuple[str, ...] = ()


def layout_of(folder: str, names: Iterable[str]) -> Layout | None:
    """The one log that a folder of this name with files of these names is, or None when it is no log by itself."""
    known = sorted(names)
    return _rolling(known) or _first_spark(known) or _delivered(known) or (Layout(()) if _is_rolling(folder) else None)


def may_be_log(name: str) -> bool:
    """Whether a file or folder of this name in a folder of logs may be one; hidden files and marks are none."""
    return not _NO_LOG.fullmatch(name)


def without_doubles(names: Sequence[str]) -> list[str]:
    """The names without a log in progress that has been finished beside it, as object stores may keep both."""
    known = set(names)
    return [name for name in names if not (name.endswith(".inprogress") and name.removesuffix(".inprogress") in known)]


def _is_rolling(folder: str) -> bool:
    return folder.startswith(ROLLING_FOLDER)


def _rolling(names: Sequence[str]) -> Layout | None:
    """By index; a compacted file stands behind the plain one of its index and replaces all that came before it."""
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
    """Databricks: what was rolled away, by the time in its name, then what is being written."""
    earlier = [name for name in names if _DELIVERED.fullmatch(name)]
    last = [name for name in names if name == _DELIVERED_LAST]
    return Layout((*earlier, *last)) if earlier or last else None
