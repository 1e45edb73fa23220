"""Render the description of a finding from a rule's template and the values of one row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from string import Formatter

from sparkfuse_rules.errors import RuleError

UNKNOWN = "unknown"
_NUMBER_FORMAT = re.compile(r",?(\.\d{1,2})?[fd]?|\.\d{1,2}%|,")
_CHOICE_FORMAT = re.compile(r"\w+=[^|{}]+(\|\w+=[^|{}]+)*")
_COUNT_FORMAT = re.compile(r"count [a-z]+( [a-z]+)*")
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STAGE_NAME, _STAGE_ID = "stage_name", "stage_id"


def render(template: str, row: Mapping[str, object]) -> str:
    """Return the template with its placeholders replaced by the values of ``row``.

    Placeholders:
    ``{column}``, or with a number format such as ``{column:.0f}``;
    ``{column:bytes}`` and ``{column:duration}`` (from ms), with a unit;
    ``{column:count task}``, a number with a noun: 1 task, 2 tasks;
    ``{column:word=text|other=other text}``, the text that belongs to the value;
    ``{column:?text with {placeholders}}``, a text that is left out when the column is absent;
    ``{column:?+text}``, a text that is left out when the column is absent or not above 0;
    ``{stage_name:id}``, the stage's name and its id in parentheses.

    An absent value, or one that does not fit its format, is rendered as ``unknown``. An absent ``stage_name`` is
    rendered as Spark's ``stage_id``. Values are never parsed, so braces in a user's text stay as they are.
    Raises RuleError if the template is malformed.
    """
    return "".join(
        literal + (_rendered(name, spec, row) if name is not None else "") for literal, name, spec in _parsed(template)
    )


def placeholders(template: str) -> tuple[tuple[str, str], ...]:
    """Return the names and formats that the template uses, including columns that replace an absent value.

    Raises RuleError if the template is malformed or has an unknown format.
    """
    found = tuple(_all_placeholders(template))
    for name, spec in found:
        if not name.isidentifier():
            raise RuleError(f"placeholder {{{name}}} must be the name of a column or param")
        if not _is_known_format(name, spec):
            raise RuleError(
                f"placeholder {{{name}:{spec}}} has an unknown format; use bytes, duration, count noun, "
                "a number format like .0f, word=text|other=other text, or ?text for an optional text"
            )
    needs_id = any(name == _STAGE_NAME for name, _ in found) and not any(name == _STAGE_ID for name, _ in found)
    return (*found, (_STAGE_ID, "")) if needs_id else found


def bind(template: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders of ``values`` only; the result is a template for ``render``."""
    parts = []
    for literal, name, spec in _parsed(template):
        parts.append(literal.replace("{", "{{").replace("}", "}}"))
        if name is None:
            continue
        if spec.startswith("?"):
            sign, text = _optional(spec)
            parts.append(f"{{{name}:{sign}{bind(text, values)}}}")
        elif name in values:
            parts.append(_formatted(values[name], spec))
        else:
            parts.append(f"{{{name}:{spec}}}" if spec else f"{{{name}}}")
    return "".join(parts)


def readable_bytes(value: float) -> str:
    """Return bytes with a unit: 1536 gives 1.5 KiB."""
    size, unit = abs(float(value)), 0
    while size >= 1023.95 and unit < len(_BYTE_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    shown = f"{size:.0f}" if unit == 0 else f"{size:.1f}"
    return f"{'-' if value < 0 else ''}{shown} {_BYTE_UNITS[unit]}"


def readable_duration(milliseconds: float) -> str:
    """Return a duration with its units: 850 ms, 12.5 s, 3 min 20 s, 2 h 5 min."""
    sign, ms = "-" if milliseconds < 0 else "", abs(float(milliseconds))
    if ms < 1000:
        return f"{sign}{ms:.0f} ms"
    if ms < 59_950:
        return f"{sign}{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds % 60} s"


def _parsed(template: str) -> list[tuple[str, str | None, str]]:
    try:
        return [(literal, name, spec or "") for literal, name, spec, _ in Formatter().parse(template)]
    except ValueError as error:
        raise RuleError(f"the description {template!r} is malformed: {error}") from error


def _all_placeholders(template: str) -> Iterator[tuple[str, str]]:
    for _, name, spec in _parsed(template):
        if name is None:
            continue
        yield name, spec
        if spec.startswith("?"):
            yield from _all_placeholders(_optional(spec)[1])


def _is_known_format(name: str, spec: str) -> bool:
    if spec == "id":
        return name == _STAGE_NAME
    if spec.startswith("?"):
        return _optional(spec)[1] != ""
    if spec in ("bytes", "duration"):
        return True
    return any(pattern.fullmatch(spec) for pattern in (_NUMBER_FORMAT, _CHOICE_FORMAT, _COUNT_FORMAT))


def _optional(spec: str) -> tuple[str, str]:
    """Split the format of an optional text into its prefix (? or ?+) and the text."""
    return ("?+", spec[2:]) if spec.startswith("?+") else ("?", spec[1:])


def _rendered(name: str, spec: str, row: Mapping[str, object]) -> str:
    value = row.get(name)
    if spec.startswith("?"):
        sign, text = _optional(spec)
        shown = value is not None and (sign == "?" or (isinstance(value, int | float) and value > 0))
        return render(text, row) if shown else ""
    if name == _STAGE_NAME:
        return _stage(value, row.get(_STAGE_ID), with_id=spec == "id")
    return _formatted(value, spec)


def _stage(name: object, stage_id: object, *, with_id: bool) -> str:
    if not name:
        return _formatted(stage_id, "")
    return f"{name} (id {stage_id})" if with_id and stage_id is not None else str(name)


def _formatted(value: object, spec: str) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    try:
        if spec in ("bytes", "duration"):
            number = float(value)  # type: ignore[arg-type]  # other types are rendered as unknown
            return readable_bytes(number) if spec == "bytes" else readable_duration(number)
        if spec.startswith("count "):
            return f"{value:,} {spec.removeprefix('count ')}{'' if value == 1 else 's'}"
        if "=" in spec:
            return dict(choice.split("=", 1) for choice in spec.split("|")).get(str(value), UNKNOWN)
        return format(value, spec)
    except (TypeError, ValueError):
        return UNKNOWN
