"""Descriptions: a template with named numbers becomes a sentence that a person reads."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from string import Formatter
from typing import Any

from sparkfuse_rules.errors import RuleError

UNKNOWN = "unknown"
_NUMBER_FORMAT = re.compile(r",?(\.\d{1,2})?[fd]?|\.\d{1,2}%|,")
# What each value of a column of words means: {moved:both=it computes more|wall=it driver_idle}.
_CHOICE_FORMAT = re.compile(r"\w+=[^|{}]+(\|\w+=[^|{}]+)*")
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def render(template: str, row: Mapping[str, Any]) -> str:
    """Fill ``{column}``, ``{column:bytes}``, ``{column:duration}`` (from ms) or a number format such as ``{x:.0f}``.

    A column of words may be said in others: ``{column:word=what it means|other=what that means}``.

    A value that is absent or does not fit its format reads ``unknown``; nothing in the row is ever parsed,
    so braces and format signs in a user's text stay what they are. Raises RuleError for a broken template.
    """
    return "".join(
        literal + (_shown(row.get(name), spec or "") if name is not None else "")
        for literal, name, spec, _ in _parsed(template)
    )


def placeholders(template: str) -> tuple[tuple[str, str], ...]:
    """Names and formats that the template uses. Raises RuleError for a broken or unknown format."""
    found = tuple((name, spec or "") for _, name, spec, _ in _parsed(template) if name is not None)
    for name, spec in found:
        if not name.isidentifier():
            raise RuleError(f"placeholder {{{name}}} must be the name of a column or param")
        known = spec in ("bytes", "duration") or _NUMBER_FORMAT.fullmatch(spec) or _CHOICE_FORMAT.fullmatch(spec)
        if not known:
            raise RuleError(
                f"placeholder {{{name}:{spec}}} has an unknown format; use bytes, duration, a number's like .0f, "
                "or word=what it means|other=what that means"
            )
    return found


def bind(template: str, values: Mapping[str, Any]) -> str:
    """Fill the placeholders of ``values`` only and leave the others for render."""
    parts = []
    for literal, name, spec, _ in _parsed(template):
        parts.append(literal.replace("{", "{{").replace("}", "}}"))
        if name is not None:
            whole = f"{{{name}:{spec}}}" if spec else f"{{{name}}}"
            parts.append(_shown(values[name], spec or "") if name in values else whole)
    return "".join(parts)


def readable_bytes(value: float) -> str:
    """Bytes for people: 1536 gives 1.5 KiB."""
    size, unit = abs(float(value)), 0
    while size >= 1023.95 and unit < len(_BYTE_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    shown = f"{size:.0f}" if unit == 0 else f"{size:.1f}"
    return f"{'-' if value < 0 else ''}{shown} {_BYTE_UNITS[unit]}"


def readable_duration(milliseconds: float) -> str:
    """Milliseconds for people: 850 ms, 12.5 s, 3 min 20 s, 2 h 5 min."""
    sign, ms = "-" if milliseconds < 0 else "", abs(float(milliseconds))
    if ms < 1000:
        return f"{sign}{ms:.0f} ms"
    if ms < 59_950:
        return f"{sign}{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds % 60} s"


def _parsed(template: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(template))
    except ValueError as error:
        raise RuleError(f"the description {template!r} is broken: {error}") from error


def _shown(value: Any, spec: str) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    try:
        if spec == "bytes":
            return readable_bytes(float(value))
        if spec == "duration":
            return readable_duration(float(value))
        if "=" in spec:
            return dict(choice.split("=", 1) for choice in spec.split("|")).get(str(value), UNKNOWN)
        return format(value, spec)
    except (TypeError, ValueError):
        return UNKNOWN
