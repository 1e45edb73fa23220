"""Text and numbers of a log, made fit for a page: whatever a log holds, nothing of it is markup, script or endless.

Escaping itself is the template's (autoescape) and `script_json`'s; this file takes out what no escaping mends.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_TEXT
from sparkfuse_rules.describe import readable_bytes, readable_duration

UNKNOWN = "unknown"
_LARGEST = 2**63


def clean(value: object, longest: int = MAX_TEXT) -> str:
    """A text of the log for a person: no control or formatting characters, no halves of characters, not endless.

    Right-to-left overrides and zero-width characters (Unicode category Cf) could make one name look like another.
    """
    text = "" if value is None else str(value)
    cut = text[:longest]
    kept = "".join(" " if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else sign for sign in cut)
    return kept + "…" if len(text) > longest else kept


def clean_lines(value: object, longest: int = 5000) -> str:
    """The same for a text of several lines: its line breaks stay."""
    return "\n".join(clean(line, longest) for line in str(value or "")[:longest].split("\n"))


def number(value: object) -> float | None:
    """A finite number within 63 bits, or None: what a hostile log calls a number may be text, NaN or 10^400."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if abs(value) < _LARGEST else None


def whole(value: object) -> int:
    """A count: what is none counts as 0."""
    found = number(value)
    return 0 if found is None else int(found)


def size(value: object) -> str:
    """Bytes for people."""
    found = number(value)
    return UNKNOWN if found is None else readable_bytes(found)


def span(value: object) -> str:
    """Milliseconds for people."""
    found = number(value)
    return UNKNOWN if found is None else readable_duration(found)


def count(value: object) -> str:
    """A count for people, with thin spaces between thousands."""
    found = number(value)
    return UNKNOWN if found is None else f"{int(found):,}".replace(",", "\u202f")


def share(part: object, of: object) -> str:
    """A part of a whole in percent; unknown when there is no whole."""
    some, all_of_it = number(part), number(of)
    return UNKNOWN if some is None or not all_of_it else f"{100 * some / all_of_it:.1f} %"


def moment(value: object) -> str:
    """A time since the epoch in ms, in UTC: a report is read in other zones than it was made in."""
    found = number(value)
    if found is None:
        return UNKNOWN
    try:
        return dt.datetime.fromtimestamp(found / 1000, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def script_json(document: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element: it cannot end it, begin a comment, or break an old parser's line.

    Raises:
        ValueError: a number in it is not finite; `number` lets none through.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
