"""The columns of the views that rules can use, each with its type, unit, description and tags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from sparkfuse_contracts.assets import asset


@dataclass(frozen=True)
class Column:
    """One column of a view.

    Its ``type`` is string, bytes, int32, int64, double, bool or map. contracts/README.md lists the units and explains
    the tags.
    """

    name: str
    type: str
    unit: str
    description: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """One view; ``row`` is the name of its field in LiveRow, ``message`` the name of that field's message."""

    name: str
    row: str
    message: str
    columns: Mapping[str, Column]


@cache
def view_specs() -> Mapping[str, View]:
    """Return all views by name, such as stage_live and app_live."""
    views: Mapping[str, Any] = _content()["views"]
    return MappingProxyType({
        name: View(name, view["row"], view["message"], _columns(view["columns"])) for name, view in views.items()
    })  # fmt: skip


@cache
def envelope() -> Mapping[str, Column]:
    """Return the columns that all views have, such as app_id, window_end_ms and completeness."""
    return _columns(_content()["envelope"])


def _content() -> Any:
    return json.loads(asset("sparkfuse_contracts", "generated", "views.json").read_text())


def _columns(entries: list[dict[str, Any]]) -> Mapping[str, Column]:
    columns = [Column(**{**entry, "tags": tuple(entry["tags"])}) for entry in entries]
    return MappingProxyType({column.name: column for column in columns})


def __getattr__(name: str) -> Mapping[str, Mapping[str, Column]]:
    """Return ``VIEWS``; the file is read when ``VIEWS`` is first used, so that importing the module does no work."""
    if name == "VIEWS":
        return MappingProxyType({view.name: view.columns for view in view_specs().values()})
    raise AttributeError(name)
