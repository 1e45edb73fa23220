"""Makes text and numbers from a log safe for a page: without markup and scripts, and of limited length.

The template (with autoescape) and `script_json` escape markup; this module removes what escaping cannot make safe.
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
    """Return text without control, formatting and surrogate characters; if it is too long, an ellipsis ends it.

    Right-to-left marks and zero-width characters (Unicode category Cf) could make one name look like another.
    """
    text = "" if value is None else str(value)
    cut = text[:longest]
    kept = "".join(" " if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else sign for sign in cut)
    return kept + "…" if len(text) > longest else kept


def clean_lines(value: object, longest: int = 5000) -> str:
    """Return text like `clean`, but with its line breaks."""
    return "\n".join(clean(line, longest) for line in str(value or "")[:longest].split("\n"))


def number(value: object) -> float | None:
    """Return a finite number within 63 bits, or None: a corrupt log can have text, NaN or 10^400 instead."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if abs(value) < _LARGEST else None


def whole(value: object) -> int:
    """Return a count; a value that is not a number becomes 0."""
    found = number(value)
    return 0 if found is None else int(found)


def size(value: object) -> str:
    """Return a number of bytes with a unit."""
    found = number(value)
    return UNKNOWN if found is None else readable_bytes(found)


def span(value: object) -> str:
    """Return a duration, given in ms, with its units."""
    found = number(value)
    return UNKNOWN if found is None else readable_duration(found)


def count(value: object) -> str:
    """Return a count with thin spaces between thousands."""
    found = number(value)
    return UNKNOWN if found is None else f"{int(found):,}".replace(",", "\u202f")


def share(part: object, of: object) -> str:
    """Return the part's percentage of the whole ``of``; unknown if the whole is absent or 0."""
    some, all_of_it = number(part), number(of)
    return UNKNOWN if some is None or not all_of_it else f"{100 * some / all_of_it:.1f} %"


def moment(value: object) -> str:
    """Return a time, given in ms since the epoch, in UTC, because people may read a report in another time zone."""
    found = number(value)
    if found is None:
        return UNKNOWN
    try:
        return dt.datetime.fromtimestamp(found / 1000, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def script_json(document: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element: the JSON can neither end the element nor start a comment.

    Raises:
        ValueError: a number is not finite; `number` never returns such a number.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
