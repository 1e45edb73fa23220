"""Takes secrets out of free text, as the plugin's SecretScrubber does: the one scrubber of all that is Python.

Spark's own redaction leaves most of them in its event log. What is named here is masked whoever wrote the text.
"""

from __future__ import annotations

import re

MOST_BYTES = 2048
# Texts are cut to this before anything else is done with them, so that time and memory stay bounded.
MOST_CHARS = 2 * MOST_BYTES
# Of a longer text this much is looked at to leave out what explains least.
MOST_LOOKED_AT = 65_536
# Where it happened is in the first frames of a stack; the rest is Spark's own.
FRAMES_KEPT = 2
# And one that says who was at the other end of a socket: the cause is the worker's end, and not the network's.
PYTHON_RUNNER = "PythonRunner"
MASK = "***"
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END[^\n]*|\Z)")
_USER_INFO = re.compile(r"(://)[^/\s@'\"]{1,400}@")
_SCHEME_VALUE = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.ASCII)
_NAMED_VALUE = re.compile(
    r"(?i)((?:passw(?:or)?d|pwd|passphrase|secret|token|credentials?|api[_.-]?key|access[_.-]?key|account[_.-]?key"
    r"|\bsig|\bsas)[\w.-]{0,40}[\"']?\s{0,3}[=:]\s{0,3})(\"[^\"]{0,2000}\"?|'[^']{0,2000}'?|[^\s\"',;&)}]+)",
    re.ASCII,
)
_KNOWN_SHAPE = re.compile(r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w.-]{10,})", re.ASCII)
_QUOTED_LITERAL = re.compile(r"'[^']{0,2000}'")
_LONG_NUMBER = re.compile(r"\b[0-9][0-9 -]{10,}(?<=[0-9])", re.ASCII)


def scrub(text: str) -> str:
    """Free text (exception, reason, URL) without obvious secrets, at most 2,048 bytes of UTF-8."""
    out = _PRIVATE_KEY.sub(MASK, condensed(text)[:MOST_CHARS])
    out = _USER_INFO.sub(rf"\1{MASK}@", out)
    out = _SCHEME_VALUE.sub(rf"\1 {MASK}", out)
    out = _NAMED_VALUE.sub(rf"\1{MASK}", out)
    return capped(_KNOWN_SHAPE.sub(MASK, out))


def condensed(text: str) -> str:
    """A text that is too long without most frames of its stacks, so that the causes behind them still fit.

    Spark writes the outermost exception first and the cause last, behind some fifty frames each.
    """
    if len(text) <= MOST_BYTES:
        return text
    kept, frames, runner_told = [], 0, False
    for line in text[:MOST_LOOKED_AT].split("\n"):
        bare = line.lstrip("\t ")
        indented = len(bare) < len(line)
        if indented and bare.startswith("... "):  # and so many more frames
            continue
        frames = frames + 1 if indented and bare.startswith("at ") else 0
        tells_runner = frames > FRAMES_KEPT and not runner_told and PYTHON_RUNNER in bare
        if frames <= FRAMES_KEPT or tells_runner:
            kept.append(line)
        runner_told = frames > 0 and (runner_told or tells_runner)
    return "\n".join(kept)


def scrub_query(text: str) -> str:
    """The same for SQL text, and without quoted literals and numbers as long as those of cards."""
    return _LONG_NUMBER.sub("?", _QUOTED_LITERAL.sub("'?'", scrub(text)))


def capped(text: str, most_bytes: int = MOST_BYTES) -> str:
    """The beginning of the text that fits, never half a character; lone surrogates become question marks."""
    content = text.encode("utf-8", "replace")
    return content[:most_bytes].decode("utf-8", "ignore")
