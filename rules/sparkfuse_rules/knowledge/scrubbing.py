"""Remove secrets from free text; the plugin's SecretScrubber returns the same result for the same text.

The patterns are in contracts/shared/scrubbing.yaml. Spark's own redaction leaves most of these secrets in its event
log.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sparkfuse_contracts.generated import scrubbing as shared

Step = tuple[Callable[[str, str], str], str]


def _steps(texts: str) -> list[Step]:
    """Return the steps for one kind of text; a step replaces the matches of a compiled pattern."""
    return [
        (re.compile(step.pattern, re.ASCII).sub, re.sub(r"\$([0-9])", r"\\\1", step.replacement))
        for step in shared.STEPS
        if step.texts in texts.split()
    ]


_COMPLETE, _CUT, _QUERY = _steps("all"), _steps("all cut"), _steps("query")


def scrub(text: str) -> str:
    """Return free text (exception, reason, URL) without obvious secrets, at most 2,048 bytes of UTF-8."""
    start = condensed(text)[: shared.MOST_CHARS]
    return capped(_applied(_CUT if len(start) == shared.MOST_CHARS else _COMPLETE, start))


def _applied(steps: list[Step], text: str) -> str:
    for substitute, replacement in steps:
        text = substitute(replacement, text)
    return text


def condensed(text: str) -> str:
    """Drop most stack frames from a text that is too long, so that all causes fit into the limit.

    Spark writes the outermost exception first and the cause last, each with about fifty frames.
    """
    if len(text) <= shared.MOST_BYTES:
        return text
    lines, frames, has_runner = [], 0, False
    for line in _beginning(text).split("\n"):
        bare = line.lstrip("\t ")
        indented = len(bare) < len(line)
        if indented and bare.startswith("... "):  # Java's own note of omitted frames
            continue
        frames = frames + 1 if indented and bare.startswith("at ") else 0
        is_runner = frames > shared.FRAMES_KEPT and not has_runner and shared.FRAME_ALWAYS_KEPT in bare
        if frames <= shared.FRAMES_KEPT or is_runner:
            lines.append(line)
        has_runner = frames > 0 and (has_runner or is_runner)
    return "\n".join(lines)


def _beginning(text: str) -> str:
    """Return the beginning of a text up to a space, because an incomplete last word may be a part of a secret."""
    if len(text) <= shared.MOST_SEARCHED:
        return text
    blank = max(text.rfind(" ", 0, shared.MOST_SEARCHED), text.rfind("\n", 0, shared.MOST_SEARCHED))
    return text[: blank if blank > 0 else shared.MOST_SEARCHED]


def scrub_query(text: str) -> str:
    """Return SQL text without secrets, quoted literals, and numbers as long as card numbers.

    Names in double quotes are removed too, because Spark by default reads text in double quotes as a literal. Use this
    function for plans and descriptions, and ``scrub`` for failures.
    """
    # Truncate again, because the replacement of an empty literal is longer than the literal.
    return capped(_applied(_QUERY, scrub(text)))


def shortened(text: str, most_chars: int) -> str:
    """Return the text without secrets, truncated to ``most_chars`` characters.

    Secrets are removed before the truncation, because truncation may separate a secret from the word that identifies
    it.
    """
    return text if len(text) <= most_chars else scrub(text)[:most_chars]


def capped(text: str, most_bytes: int = shared.MOST_BYTES) -> str:
    """Truncate a text to ``most_bytes`` of UTF-8, at a whole character; lone surrogates become question marks."""
    content = text.encode("utf-8", "replace")
    return content[:most_bytes].decode("utf-8", "ignore")
