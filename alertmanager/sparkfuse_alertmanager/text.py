"""Validate addresses in alerts: only http and https, without markup."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from sparkfuse_rules.plain_text import HIDDEN

_ADDRESS = re.compile(r"https?://[^\s<>\"|\\^`{}]+")


def address(text: str, limit: int = 1000) -> str:
    """Return ``text`` if it is an http or https address without markup; otherwise return an empty string."""
    if len(text) > limit or not _ADDRESS.fullmatch(text) or HIDDEN.search(text):
        return ""
    try:
        return text if urlsplit(text).hostname else ""
    except ValueError:
        return ""
