"""Reads the beginning of a log again, up to the cursor, so that the events after the cursor can be translated."""

from __future__ import annotations

from typing import NamedTuple

from sparkfuse_collectors.logs.files import Files
from sparkfuse_collectors.logs.find import FoundLog, Part
from sparkfuse_collectors.logs.lines import LineReader
from sparkfuse_collectors.ship.cursor import Cursor
from sparkfuse_collectors.ship.translation import Identity, Shipper, Translation
from sparkfuse_kernel import INFREQUENT_EVENTS


class Replay(NamedTuple):
    """A translation of all events up to the cursor.

    ``is_complete`` is True if the log still reaches the cursor, ``is_other_application`` if its first lines belong to
    another application.
    """

    translation: Translation
    is_complete: bool
    is_other_application: bool = False


def replay(files: Files, found: FoundLog, cursor: Cursor, shipper: Shipper, identity: Identity | None) -> Replay:
    """Read the log again up to the cursor; ``identity`` is the run to which the log belonged.

    If the file at the cursor is a compacted file, the cursor records this, and the whole file counts as read. Raises
    NoApplicationError, BrokenFileError, OSError.
    """
    translation, is_complete = Translation(shipper), True
    for part in found.parts:
        if part.number > cursor.number:
            break
        is_current = part.number == cursor.number and not cursor.was_compacted(part)
        reader = LineReader(files, part.path, 0, None, INFREQUENT_EVENTS)
        is_complete = translation.replay(reader, cursor.offset if is_current else None)
        if translation.identity is not None and translation.identity != identity:
            return Replay(translation, is_complete, is_other_application=True)
        if not is_complete and _may_be_compacted(part, cursor, found):
            cursor.compacted = False
            return replay(files, found, cursor, shipper, identity)
    return Replay(translation, is_complete)


def _may_be_compacted(part: Part, cursor: Cursor, found: FoundLog) -> bool:
    """Whether the file may be the compacted form of the file that an earlier shipper read."""
    return part.compacted and cursor.compacted is None and cursor.next_part(found) is not None
