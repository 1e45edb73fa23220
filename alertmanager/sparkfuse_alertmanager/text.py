"""Text from users' jobs made fit for alerts: what a person reads, of bounded length, without hidden marks.

Escaping belongs to the place that writes for Slack (templates/slack.tmpl), because a pager or a webhook would show
``&lt;`` to its reader. Here goes what no place may show.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from sparkfuse_rules.knowledge.scrubbing import scrub

# C0 and C1 controls, marks that turn the direction of text or hide it, line and paragraph separators, tags, surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_SPACES = re.compile(r"\s+")
_MARKUP = re.compile("[<>&]")
_ADDRESS = re.compile(r"https?://[^\s<>\"|\\^`{}]+")


def plain(text: str, limit: int) -> str:
    """The text without hidden marks and secrets, in one line, ``limit`` characters at most; a cut shows an ellipsis.

    Collectors take secrets out too; here is the last gate before people's screens.
    """
    line = scrub(_SPACES.sub(" ", _HIDDEN.sub("", text)).strip())
    return line if len(line) <= limit else (line[: limit - 1] + "…")[: max(limit, 0)]


def label(text: str, limit: int = 200) -> str:
    """The text as a label value: plain, and without ``< > &``, since labels are shown by templates of others too.

    A longer text keeps its beginning and gets a hash of the whole, so that two long names stay two.
    """
    line = _MARKUP.sub("_", plain(text, len(text) + 1))
    if len(line) <= limit:
        return line
    return f"{line[: limit - 9]}~{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def address(text: str, limit: int = 1000) -> str:
    """The text if it is an http or https address that no reader can take for markup, else nothing."""
    if len(text) > limit or not _ADDRESS.fullmatch(text) or _HIDDEN.search(text):
        return ""
    try:
        return text if urlsplit(text).hostname else ""
    except ValueError:
        return ""
