"""Makes text from logs safe for a terminal, because a log can contain escape sequences."""

from __future__ import annotations

import unicodedata

# Unicode categories: controls, formats (such as text direction), surrogates, private use, and line separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
SHORTENED = "…"
MARK = "\N{REPLACEMENT CHARACTER}"


def readable(text: str, limit: int = 1000) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, without control characters.

    Each sequence of white space becomes one space, and each unsafe character becomes a replacement character. A
    truncated text ends with ….
    """
    cut = text[: 2 * limit]  # a string in a log can be megabytes long
    shown = "".join(" " if each.isspace() else MARK if _is_unsafe(each) else each for each in cut)
    line = " ".join(shown.split())
    return line if len(line) <= limit and len(text) <= 2 * limit else line[: limit - 1] + SHORTENED


def printable(text: str) -> str:
    """Return ``text`` with its lines as they are, and each unsafe character replaced."""
    return "".join(MARK if each != "\n" and _is_unsafe(each) else each for each in text)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE
