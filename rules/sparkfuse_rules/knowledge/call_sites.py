"""Finds the line of the user's code in Spark's call sites.

The plugin (Java) and the kernel (Rust) do the same; all three pass the cases of contracts/shared/framework_frames.yaml.
"""

from __future__ import annotations

import re

from sparkfuse_contracts.generated.framework_frames import (
    EXCEPTIONS,
    FILES,
    MOST_CHARS,
    MOST_FRAMES,
    MOST_LONG_FORM_CHARS,
    PREFIXES,
)
from sparkfuse_rules.knowledge.scrubbing import scrub

_SHORT_FORM = re.compile(r"([^\s]+) at (.+):([0-9]+)")
_FRAME = re.compile(r"([^\s(]+)\((.+):([0-9]+)\)")
_LAMBDA = re.compile(r"\$anonfun\$([A-Za-z0-9_]+)\$[0-9]+")
_NO_METHOD = re.compile(r"[$<>]")


def user_call_site(short_form: str | None, long_form: str | None) -> str | None:
    """Return the user's line as ``collect at orders.py:44``, or None if the call sites show no user code.

    Arguments: Spark's short call site (the name of a stage, the description of a SQL execution), and its long call
    site (``details``), a stack of frames.
    """
    found = _of_short_form(short_form or "") or _of_long_form((long_form or "")[:MOST_LONG_FORM_CHARS])
    return scrub(found)[:MOST_CHARS] if found else None


def _of_short_form(text: str) -> str | None:
    found = _SHORT_FORM.fullmatch(text.strip()) if len(text) <= MOST_LONG_FORM_CHARS else None
    return _written(*found.groups()) if found else None


def _of_long_form(text: str) -> str | None:
    for line in text.split("\n", MOST_FRAMES)[:MOST_FRAMES]:
        frame = _FRAME.fullmatch(line.strip())
        if frame and not _is_framework(frame[1].rpartition("/")[2]):
            method = frame[1].rpartition(".")[2]
            if written := _written(method, frame[2], frame[3]):
                return written
    return None


def _is_framework(name: str) -> bool:
    return name.startswith(PREFIXES) and not name.startswith(EXCEPTIONS)


def _written(method: str, place: str, line: str) -> str | None:
    file = place.replace("\\", "/").rpartition("/")[2]
    if int(line[-9:]) == 0 or file in FILES:
        return None
    method = _LAMBDA.sub(r"\1", method)
    known = method and not _NO_METHOD.search(method)
    return f"{method} at {file}:{line}" if known else f"{file}:{line}"
