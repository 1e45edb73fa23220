"""Composes the regular expressions of contracts/shared from named parts; Java and Python must interpret them alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sparkfuse_contracts.schema import SchemaError

PARTS = "parts"
PATTERN = "pattern"
# The name of a part begins with a letter, so a quantifier such as {0,40} is not taken for a part.
_PART = re.compile(r"\{([a-z_]+)\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
# The syntax that Java and Python interpret differently: anchors, and word boundaries beside letters with accents.
_DIFFERENT = re.compile(r"(?<!\\)(?:\\\\)*(\\[bBzZAGhHRQEp]|\^|\$)")


def composed(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a file with the named parts inserted in all patterns, and without the key ``parts``.

    Raises SchemaError for an unknown part, and for a pattern that Java and Python interpret differently.
    """
    parts = {name: _text(part) for name, part in content.get(PARTS, {}).items()}
    return {key: _patterns(value, parts) for key, value in content.items() if key != PARTS}


def _text(part: str | Mapping[str, str]) -> str:
    if isinstance(part, str):
        return part
    return "".join(part["each"].replace("{word}", word) for word in part["words"].split())


def _patterns(value: Any, parts: Mapping[str, str]) -> Any:
    if not isinstance(value, list):
        return value
    return [
        {**each, PATTERN: _checked(each[PATTERN], parts)} if isinstance(each, dict) and PATTERN in each else each
        for each in value
    ]


def _checked(pattern: str, parts: Mapping[str, str]) -> str:
    while found := _PART.search(pattern):
        if found[1] not in parts:
            raise SchemaError(f"a pattern of contracts/shared refers to the unknown part {{{found[1]}}}")
        pattern = pattern.replace(found[0], parts[found[1]])
    if differs := _DIFFERENT.search(_CLASS.sub("[]", pattern)):
        raise SchemaError(f"Java and Python do not agree on {differs[1]} in a pattern of contracts/shared: {pattern}")
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        raise SchemaError(f"a pattern of contracts/shared is not valid: {error}: {pattern}") from error
    return pattern
