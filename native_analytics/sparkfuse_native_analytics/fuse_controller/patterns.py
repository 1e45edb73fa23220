"""Patterns in shell style with ``*`` and ``?`` only; ``[`` is an ordinary character, as in the hook."""

from __future__ import annotations

import re
from functools import cache


def matches(pattern: str, text: str) -> bool:
    """Return whether the whole text matches the pattern; the comparison is case-sensitive."""
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(character) or re.escape(character) for character in pattern), re.DOTALL)
