"""Read YAML strictly: an unknown key or a wrong type raises an error that names its place in the file."""

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


# The loader of libyaml is faster, but PyYAML can be built without it.
_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]  # one of two classes
    """A YAML loader that rejects duplicate keys; PyYAML would silently use the last one."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
        seen.add(key)
    return dict(yaml.SafeLoader.construct_mapping(loader, node, deep=True))


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Return the mapping in a YAML file; an empty file gives an empty mapping. Raises RuleError."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506  a safe loader
    # PyYAML raises ValueError for impossible dates and numbers that are too long, TypeError for a list as a key.
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise RuleError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    return mapping(str(path), {} if content is None else content)


def mapping(place: str, value: object, keys: Collection[str] | None = None) -> Mapping[str, Any]:
    """Return ``value`` if it is a mapping whose keys are all in ``keys``. Raises RuleError otherwise."""
    if not isinstance(value, Mapping):
        raise RuleError(f"{place}: must be a mapping of keys to values, but is {value!r}")
    for key in value:
        if keys is not None and key not in keys:
            raise unknown_name(place, "key", key, keys)
    return {str(key): each for key, each in value.items()}


def text(place: str, value: object) -> str:
    """Return ``value`` without surrounding space if it is a non-empty string. Raises RuleError otherwise."""
    if not isinstance(value, str) or not value.strip():
        raise RuleError(f"{place}: must be a string, but is {value!r}")
    return value.strip()


def number(place: str, value: object) -> int | float:
    """Return ``value`` as a finite number, as an int if it is whole; "2e8" is accepted too. Raises RuleError."""
    try:
        read = float(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if isinstance(read, bool) or not isinstance(read, int | float) or not math.isfinite(read):
        raise RuleError(f"{place}: must be a number, but is {value!r}")
    return int(read) if isinstance(read, float) and read.is_integer() and abs(read) < 2**63 else read


def duration_ms(place: str, value: object) -> int:
    """Return a duration such as 0s, 90s, 10m or 1h in milliseconds. Raises RuleError."""
    found = _DURATION.fullmatch(str(value).strip())
    if not found:
        raise RuleError(f"{place}: must be a duration like 0s, 90s, 10m or 1h, but is {value!r}")
    return int(found[1]) * _UNIT_MS[found[2]]
