"""Opaque cursors: the place in a list from which its next page starts, as text that clients send back unchanged."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence

MAX_LENGTH = 1_000
_INTEGERS = range(-(1 << 62), 1 << 62)


class CursorError(ValueError):
    """A cursor was not made by the same list; the message is one sentence with the correction."""


def encode(name: str, values: Sequence[int | str]) -> str:
    """Return the cursor of a place in the list ``name``: the sorting columns of the last row before it."""
    text = json.dumps([name, *values], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, name: str, types: Sequence[type]) -> tuple[int | str, ...] | None:
    """Return the values of a cursor; None if the cursor is empty, which selects the first page.

    Raises CursorError if the cursor belongs to another list, is damaged, or has values of other types.
    """
    if not cursor:
        return None
    values = _values(cursor)
    if values is None or values[:1] != [name] or list(map(type, values[1:])) != list(types):
        raise CursorError(f"The cursor is not one of {name}: send next_cursor of the previous page, or no cursor.")
    found = tuple(value for value in values[1:] if isinstance(value, int | str))
    if any(value not in _INTEGERS for value in found if isinstance(value, int)):
        raise CursorError("The cursor contains a number that is too large: start again without a cursor.")
    return found


def _values(cursor: str) -> list[object] | None:
    if len(cursor) > MAX_LENGTH:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeError, binascii.Error, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
