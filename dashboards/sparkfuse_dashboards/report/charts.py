"""The charts as Vega specifications; they contain only data and shapes, neither addresses to load nor code to run.

Colours are names of the page's custom properties, so that only the style sheet distinguishes light, dark and print.
Each chart has a description for readers who cannot see the chart. The tables beside the chart contain its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.text import size, span
from sparkfuse_dashboards.report.timeline import Window

Spec = dict[str, Any]

# Fonts are named here instead of inherited, because Vega measures labels on a canvas, which has no access to the page's
# style.
_FONT = "system-ui, sans-serif"
_LANE_HEIGHT = 18
_BAR_HEIGHT = 22
_OUTCOMES = ("success", "failed", "killed")
_STATUSES = ("executor", "succeeded", "failed", "open")
_CONFIG = {
    "axis": {
        "labelColor": "var(--ink)", "titleColor": "var(--ink)", "gridColor": "var(--line)",
        "domainColor": "var(--line)", "tickColor": "var(--line)", "labelFont": _FONT, "titleFont": _FONT,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
    },
    "text": {"font": _FONT, "fontSize": 11},
}  # fmt: skip
_DURATION = (
    "datum.value < 1000 ? format(datum.value, '~r') + ' ms' : datum.value < 60000 ? format(datum.value / 1000, '~r') + "
    "' s' : datum.value < 3600000 ? format(datum.value / 60000, '.3~r') + ' min' : "
    "format(datum.value / 3600000, '.3~r') + ' h'"
)
_BYTES = (
    "datum.value < 1024 ? format(datum.value, '~r') + ' B' : datum.value < 1048576 ? "
    "format(datum.value / 1024, '.3~r') + ' KiB' : datum.value < 1073741824 ? "
    "format(datum.value / 1048576, '.3~r') + ' MiB' : datum.value < 1099511627776 ? "
    "format(datum.value / 1073741824, '.3~r') + ' GiB' : format(datum.value / 1099511627776, '.3~r') + ' TiB'"
)
_COUNT = "format(datum.value, '~s')"
_SHARE = "format(datum.value, '~%')"


def timeline(bars: Sequence[Mapping[str, Any]], labels: Sequence[str], shown: Window) -> Spec:
    """Return the chart of bars over time.

    The signals ``from`` and ``to`` are the start and end of the visible period, in the unit that ``time_unit`` returns.
    """
    name, seconds = time_unit(shown)
    values = [{**bar, "from": bar["from"] / seconds, "to": bar["to"] / seconds} for bar in bars]
    start, end = "scale('x', datum.from)", "max(scale('x', datum.to), scale('x', datum.from) + 1.5)"
    row = {"scale": "y", "field": "row"}
    return {
        **_chart("Timeline of executors, jobs and stages", len(labels) * _LANE_HEIGHT),
        "signals": [*_zoom(shown, seconds), {"name": "labels", "value": list(labels)}],
        "data": [{"name": "bars", "values": values}],
        "scales": [
            _zoomed_scale(),
            {"name": "y", "type": "band", "domain": list(range(len(labels))), "range": "height", "padding": 0.15},
            _colours("status", _STATUSES, ("--quiet", "--good", "--bad", "--open")),
        ],
        "axes": [
            {"scale": "x", "orient": "bottom", "grid": True, "labelOverlap": "greedy",
             "title": f"{name} since the start"},
            {"scale": "y", "orient": "left", "ticks": False, "domain": False,
             "encode": {"labels": {"update": {"text": {"signal": "labels[datum.value]"}}}}},
        ],
        "marks": [
            {"type": "rect", "from": {"data": "bars"}, "clip": True, "aria": False, "encode": {"update": {
                "x": {"signal": start}, "x2": {"signal": end}, "y": row, "height": {"scale": "y", "band": 1},
                "fill": {"scale": "status", "field": "status"}, "tooltip": {"field": "tip"},
                "stroke": {"value": "var(--paper)"}, "strokeWidth": {"value": 0.5},
            }}},
            {"type": "text", "from": {"data": "bars"}, "clip": True, "aria": False, "interactive": False,
             "encode": {"update": {
                "x": {"signal": f"max({start}, 0) + 3"}, "y": {**row, "band": 0.5}, "baseline": {"value": "middle"},
                "text": {"signal": f"{end} - max({start}, 0) > 6.5 * length(datum.name) ? datum.name : ''"},
                "fill": {"value": "var(--on-bar)"},
            }}},
        ],
    }  # fmt: skip


def alive(steps: Sequence[Mapping[str, float]], shown: Window) -> Spec:
    """Return the chart of the number of executors over the same period as the bars of the timeline."""
    name, seconds = time_unit(shown)
    values = [{"at": step["at"] / seconds, "count": step["count"]} for step in steps]
    return {
        **_chart("Number of executors over time", 80),
        "signals": _zoom(shown, seconds),
        "data": [{"name": "steps", "values": values}],
        "scales": [
            _zoomed_scale(),
            {"name": "y", "type": "linear", "domain": {"data": "steps", "field": "count"}, "range": "height",
             "zero": True, "nice": True},
        ],
        "axes": [
            {"scale": "x", "orient": "bottom", "grid": True, "labelOverlap": "greedy",
             "title": f"{name} since the start"},
            {"scale": "y", "orient": "left", "tickCount": 3, "tickMinStep": 1, "title": "executors"},
        ],
        "marks": [{"type": "area", "from": {"data": "steps"}, "clip": True, "aria": False, "encode": {"update": {
            "x": {"scale": "x", "field": "at"}, "y": {"scale": "y", "field": "count"}, "y2": {"scale": "y", "value": 0},
            "interpolate": {"value": "step-after"}, "fill": {"value": "var(--quiet)"},
        }}}],
    }  # fmt: skip


def histogram(bins: Sequence[Mapping[str, float]], title: str, *, of_bytes: bool) -> Spec:
    """Return the chart of the number of tasks in each bin.

    The axis of the number is logarithmic from 1 on, so that one straggler among 10^5 tasks is visible.
    """
    shown = size if of_bytes else span
    values = [
        {
            "place": place,
            "count": each["count"],
            "label": shown(each["from"]),
            "tip": f"{each['count']:.0f} tasks from {shown(each['from'])} to {shown(each['to'])}",
        }
        for place, each in enumerate(bins)
    ]
    return {
        **_chart(f"Number of tasks by {title}", 150),
        "data": [{"name": "bins", "values": values}],
        "signals": [{"name": "labels", "value": [each["label"] for each in values]}],
        "scales": [
            {"name": "x", "type": "band", "domain": list(range(len(values))), "range": "width", "paddingInner": 0.05},
            {"name": "y", "type": "symlog", "domain": {"data": "bins", "field": "count"}, "range": "height",
             "zero": True, "nice": True},
        ],
        "axes": [
            {"scale": "x", "orient": "bottom", "title": f"{title}, from", "labelOverlap": "greedy", "bandPosition": 0,
             "labelSeparation": 8, "encode": {"labels": {"update": {"text": {"signal": "labels[datum.value]"}}}}},
            {"scale": "y", "orient": "left", "grid": True, "title": "tasks", "values": _counts_to_mark(bins),
             "encode": {"labels": {"update": {"text": {"signal": _COUNT}}}}},
        ],
        "marks": [{"type": "rect", "from": {"data": "bins"}, "aria": False, "encode": {"update": {
            "x": {"scale": "x", "field": "place"}, "width": {"scale": "x", "band": 1},
            "y": {"scale": "y", "field": "count"}, "y2": {"scale": "y", "value": 0},
            "fill": {"value": "var(--accent)"}, "tooltip": {"field": "tip"},
        }}}],
    }  # fmt: skip


def points(tasks: Sequence[Mapping[str, Any]]) -> Spec:
    """Return the chart of tasks by bytes read and wall time.

    Tasks with skewed data appear at the upper right, tasks on slow hosts at the top with average bytes.
    """
    values = [{**task, "x": max(task["bytes"], 1), "y": max(task["ms"], 1)} for task in tasks]
    return {
        **_chart("Tasks by bytes read and wall time", 220),
        "data": [{"name": "tasks", "values": values}],
        "scales": [
            {"name": "x", "type": "log", "base": 2, "domain": {"data": "tasks", "field": "x"}, "range": "width",
             "nice": True},
            {"name": "y", "type": "log", "domain": {"data": "tasks", "field": "y"}, "range": "height", "nice": True},
            _colours("outcome", _OUTCOMES, ("--accent", "--bad", "--open")),
            {"name": "shape", "type": "ordinal", "domain": list(_OUTCOMES), "range": ["circle", "cross", "diamond"]},
        ],
        "axes": [
            {"scale": "x", "orient": "bottom", "grid": True, "title": "bytes read", "tickCount": 6,
             "labelOverlap": "greedy", "encode": {"labels": {"update": {"text": {"signal": _BYTES}}}}},
            {"scale": "y", "orient": "left", "grid": True, "title": "wall time", "tickCount": 5,
             "labelOverlap": "greedy", "encode": {"labels": {"update": {"text": {"signal": _DURATION}}}}},
        ],
        "marks": [{"type": "symbol", "from": {"data": "tasks"}, "aria": False, "encode": {"update": {
            "x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": "y"}, "size": {"value": 40},
            "shape": {"scale": "shape", "field": "outcome"}, "fill": {"scale": "outcome", "field": "outcome"},
            "fillOpacity": {"value": 0.6}, "tooltip": {"field": "tip"},
        }}}],
    }  # fmt: skip


def ranking(bars: Sequence[Mapping[str, Any]], title: str, *, of_bytes: bool) -> Spec:
    """Return the chart of stages ordered by one number, the stage with the largest number on top."""
    return {
        **_chart(title, max(len(bars), 1) * _BAR_HEIGHT),
        "data": [{"name": "stages", "values": list(bars)}],
        "scales": [
            {"name": "x", "type": "linear", "domain": {"data": "stages", "field": "value"}, "range": "width",
             "zero": True, "nice": True},
            {"name": "y", "type": "band", "domain": [bar["name"] for bar in bars], "range": "height", "padding": 0.2},
        ],
        "axes": [
            {"scale": "x", "orient": "bottom", "grid": True, "tickCount": 5, "title": title, "labelOverlap": "greedy",
             "encode": {"labels": {"update": {"text": {"signal": _BYTES if of_bytes else _SHARE}}}}},
            {"scale": "y", "orient": "left", "ticks": False},
        ],
        "marks": [{"type": "rect", "from": {"data": "stages"}, "aria": False, "encode": {"update": {
            "x": {"scale": "x", "value": 0}, "x2": {"scale": "x", "field": "value"},
            "y": {"scale": "y", "field": "name"}, "height": {"scale": "y", "band": 1},
            "fill": {"value": "var(--accent)"}, "tooltip": {"field": "tip"},
        }}}],
    }  # fmt: skip


def time_unit(shown: Window) -> tuple[str, float]:
    """Return the unit in which the time axis is readable, and the number of seconds in one unit."""
    if shown.length_ms < 10 * 60_000:
        return "seconds", 1
    return ("minutes", 60) if shown.length_ms < 10 * 3_600_000 else ("hours", 3600)


def _chart(description: str, height: int) -> Spec:
    return {
        "description": description,
        "width": 800,
        "height": height,
        "padding": 4,
        # The script of the page sets the width of the chart to the width of its box.
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": _CONFIG,
    }


def _zoom(shown: Window, seconds: float) -> list[dict[str, Any]]:
    whole = shown.length_ms / 1000 / seconds
    return [{"name": "from", "value": 0}, {"name": "to", "value": whole}, {"name": "whole", "value": whole}]


def _zoomed_scale() -> dict[str, Any]:
    return {"name": "x", "type": "linear", "domain": {"signal": "[from, to]"}, "range": "width", "zero": False}


def _colours(name: str, domain: Sequence[str], properties: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "type": "ordinal", "domain": list(domain), "range": [f"var({each})" for each in properties]}


def _counts_to_mark(bins: Sequence[Mapping[str, float]]) -> list[int]:
    """Return the counts with a mark on the axis: 0 and the powers of ten up to the highest count.

    If the highest count is below 10, the marks are 0, 1 and the highest count.
    """
    highest = int(max((each["count"] for each in bins), default=0))
    if highest < 10:
        return sorted({0, 1, highest})
    return [0, *(10**power for power in range(len(str(highest))))]
