"""Clean text from users' jobs before people read it: one line, limited length, no hidden characters, no secrets.

Markup is escaped in the template for Slack (templates/slack.tmpl) and not here, because a pager or a webhook would show
``&lt;``.
"""

from __future__ import annotations

import hashlib
import re

from sparkfuse_rules.knowledge.scrubbing import scrub

# C0 and C1 controls, directional and invisible characters, line and paragraph separators, tags, surrogates.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_SPACES = re.compile(r"\s+")
_MARKUP = re.compile("[<>&]")


def plain(text: str, limit: int) -> str:
    """Return the text on one line, without hidden characters and secrets; if it is longer than ``limit``, it is cut.

    Collectors remove secrets too; this function is the last check before a notification.
    """
    line = scrub(_SPACES.sub(" ", HIDDEN.sub("", text)).strip())
    return line if len(line) <= limit else (line[: limit - 1] + "…")[: max(limit, 0)]


def label(text: str, limit: int = 200) -> str:
    """Return the text as a label value, without ``< > &``, because other teams' templates may not escape labels.

    A text longer than ``limit`` is truncated and ends with a hash of the whole text, so that different texts get
    different labels.
    """
    line = _MARKUP.sub("_", plain(text, len(text) + 1))
    if len(line) <= limit:
        return line
    return f"{line[: limit - 9]}~{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
