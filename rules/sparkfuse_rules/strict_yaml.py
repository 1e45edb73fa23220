"""Strict reading of YAML: every key is known, every value has its type, and what is wrong is said with its place."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from sparkfuse_rules.errors import RuleError, unknown_name

_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently keep the last."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
        seen.add(key)
    return dict(yaml.SafeLoader.construct_mapping(loader, node, deep=True))


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Read a YAML file that is one mapping; an empty file is an empty one. Raises RuleError."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506  a safe loader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RuleError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    return mapping(str(path), {} if content is None else content)


def mapping(place: str, value: object, keys: Collection[str] | None = None) -> Mapping[str, Any]:
    """``value`` when it is a mapping with text keys, all of them among ``keys``. Raises RuleError."""
    if not isinstance(value, Mapping):
        raise RuleError(f"{place}: must be a mapping of keys to values, is {value!r}")
    for key in value:
        if keys is not None and key not in keys:
            raise unknown_name(place, "key", key, keys)
    return {str(key): each for key, each in value.items()}


def text(place: str, value: object) -> str:
    """``value`` when it is text that says something. Raises RuleError."""
    if not isinstance(value, str) or not value.strip():
        raise RuleError(f"{place}: must be text, is {value!r}")
    return value.strip()


def number(place: str, value: object) -> int | float:
    """``value`` as a finite number, whole when it is; text like 2e8, which YAML reads as text, is one too."""
    try:
        read = float(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if isinstance(read, bool) or not isinstance(read, int | float) or not math.isfinite(read):
        raise RuleError(f"{place}: must be a number, is {value!r}")
    return int(read) if isinstance(read, float) and read.is_integer() and abs(read) < 2**63 else read


def duration_ms(place: str, value: object) -> int:
    """Milliseconds of a duration like 0s, 90s, 10m, 1h. Raises RuleError."""
    found = _DURATION.fullmatch(str(value).strip())
    if not found:
        raise RuleError(f"{place}: must be a duration like 0s, 90s, 10m or 1h, is {value!r}")
    return int(found[1]) * _UNIT_MS[found[2]]
