"""Text that comes from a log, made fit for a terminal: it is hostile until then."""

from __future__ import annotations

import unicodedata

# Controls, formats (which turn the direction of text), halves of characters, private use, and line separators.
_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
SHORTENED = "…"
MARK = "\N{REPLACEMENT CHARACTER}"


def readable(text: str, limit: int = 1000) -> str:
    """``text`` on one line, at most ``limit`` characters, without anything that a terminal would obey.

    White space becomes a space, a character that is not shown becomes a mark, and what is too long ends in ….
    """
    cut = text[: 2 * limit]  # a text of megabytes is not looked at as a whole
    shown = "".join(" " if each.isspace() else MARK if _is_hostile(each) else each for each in cut)
    line = " ".join(shown.split())
    return line if len(line) <= limit and len(text) <= 2 * limit else line[: limit - 1] + SHORTENED


def _is_hostile(character: str) -> bool:
    return unicodedata.category(character) in _HOSTILE
