"""Replaces macros and variables in a query for tests, in the same way as Grafana and its ClickHouse plugin.

https://github.com/grafana/clickhouse-datasource describes the macros. Grafana's documentation of variables describes
the global variables and the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_MACRO = re.compile(r"\$__(\w+)(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?")
_VARIABLE = re.compile(r"\$\{(\w+)(?::(\w+))?\}")


class MacroError(ValueError):
    """A query contains an unknown macro, variable or format."""


@dataclass(frozen=True)
class TimeRange:
    """The time range of a dashboard and the interval of its panels, all in ms."""

    from_ms: int
    to_ms: int
    interval_ms: int = 15_000


def expand(sql: str, time_range: TimeRange, variables: Mapping[str, str] | None = None) -> str:
    """Return the query that the engine receives: without macros and variables.

    Raises MacroError for an unknown macro, variable or format.
    """
    known = {"__from": str(time_range.from_ms), "__to": str(time_range.to_ms), **(variables or {})}

    def variable(found: re.Match[str]) -> str:
        name, form = found.groups()
        if name not in known or form not in _FORMATS:
            raise MacroError(f"{found.group()} is not a variable or format; the variables are {', '.join(known)}")
        return _FORMATS[form](known[name])

    def macro(found: re.Match[str]) -> str:
        name, argument = found.groups()
        if name not in _MACROS:
            raise MacroError(f"$__{name} is not a macro; the macros are {', '.join(_MACROS)}")
        return _MACROS[name](time_range, argument)

    return _MACRO.sub(macro, _VARIABLE.sub(variable, sql))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_FORMATS: Mapping[str | None, Callable[[str], str]] = {None: str, "raw": str, "sqlstring": _quoted}


def _seconds(ms: int) -> str:
    return f"toDateTime({ms // 1000})"


def _millis(ms: int) -> str:
    return f"fromUnixTimestamp64Milli({ms})"


_MACROS: Mapping[str, Callable[[TimeRange, str], str]] = {
    "fromTime": lambda time, _: _seconds(time.from_ms),
    "toTime": lambda time, _: _seconds(time.to_ms),
    "fromTime_ms": lambda time, _: _millis(time.from_ms),
    "toTime_ms": lambda time, _: _millis(time.to_ms),
    "timeFilter": lambda time, column: (
        f"{column} >= {_seconds(time.from_ms)} AND {column} <= {_seconds(time.to_ms)}"
    ),
    "timeFilter_ms": lambda time, column: (
        f"{column} >= {_millis(time.from_ms)} AND {column} <= {_millis(time.to_ms)}"
    ),
    "interval_s": lambda time, _: str(max(1, time.interval_ms // 1000)),
    "interval_ms": lambda time, _: str(time.interval_ms),
    "timeInterval": lambda time, column: (
        f"toStartOfInterval(toDateTime({column}), INTERVAL {max(1, time.interval_ms // 1000)} second)"
    ),
}  # fmt: skip
