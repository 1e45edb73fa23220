"""A panel as data: its query, the columns of the result, and the format of each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from grafana_foundation_sdk.builders import common, stat, table, timeseries
from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    TableCellHeight,
)
from grafana_foundation_sdk.models.dashboard import (
    DynamicConfigValue,
    Panel,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)

from sparkfuse_contracts.links import RUNNING_JOB_UID
from sparkfuse_dashboards.query import DATASOURCE, ClickHouseQuery

Kind = Literal["table", "timeseries", "stat"]
Unit = Literal["text", "word", "ms", "bytes", "share", "times", "count", "amount", "time", "app_id", "runbook"]
# If the completeness is below this share, no finding is critical and the fuse does not act.
COMPLETE = 0.99
_UNITS: Mapping[Unit, str] = {
    "ms": "ms",
    "bytes": "bytes",
    "share": "percentunit",
    "times": "suffix:x",
    "count": "locale",
    "amount": "short",
    "time": "dateTimeAsIsoNoDateIfToday",
}
_COLORS = {
    "critical": "red", "warning": "orange", "info": "blue", "firing": "red", "resolved": "green",
    "running": "blue", "succeeded": "green", "failed": "red", "idle": "red", "busy": "yellow", "moving": "green",
    "python_starting": "yellow", "acted": "purple", "sent": "purple", "would_act": "blue", "held": "yellow",
    "over_budget": "yellow", "disagrees": "orange", "refused": "orange", "expired": "orange",
}  # fmt: skip
_LINKS: Mapping[Unit, Mapping[str, object]] = {
    "app_id": {
        "title": "Open the running job",
        "url": f"/d/{RUNNING_JOB_UID}?var-app_id=${{__value.raw:percentencode}}&${{__url_time_range}}",
    },
    "runbook": {"title": "Open the runbook", "url": "${__value.raw}", "targetBlank": True},
}


@dataclass(frozen=True)
class Column:
    """One column of the result; a share below ``share_floor`` is shown in colour."""

    name: str
    unit: Unit = "text"
    share_floor: float | None = None


@dataclass(frozen=True)
class PanelSpec:
    """One panel; its columns have the same order as in the query.

    ``width`` is in columns of Grafana's grid, which has 24 columns.
    """

    title: str
    description: str
    kind: Kind
    sql: str
    columns: tuple[Column, ...]
    width: int = 24
    height: int = 8


def build_panel(spec: PanelSpec, panel_id: int) -> Builder[Panel]:
    """Return the panel for Grafana."""
    if spec.kind == "timeseries":
        return _framed(_timeseries(spec), spec, panel_id)
    return _framed(_table(spec), spec, panel_id) if spec.kind == "table" else _framed(_stat(spec), spec, panel_id)


_Visual = TypeVar("_Visual", table.Panel, timeseries.Panel, stat.Panel)


def _framed(builder: _Visual, spec: PanelSpec, panel_id: int) -> _Visual:
    return (
        builder.id(panel_id)
        .title(spec.title)
        .description(spec.description)
        .datasource(DATASOURCE)
        .span(spec.width)
        .height(spec.height)
        .with_target(ClickHouseQuery(spec.sql, "timeseries" if spec.kind == "timeseries" else "table"))
    )


def _table(spec: PanelSpec) -> table.Panel:
    builder = table.Panel().cell_height(TableCellHeight.SM).filterable(filterable=True)
    for column in spec.columns:
        builder = builder.override_by_name(column.name, _properties(column))
    return builder


def _timeseries(spec: PanelSpec) -> timeseries.Panel:
    value = spec.columns[-1]
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    builder = (
        timeseries.Panel().draw_style(GraphDrawStyle.LINE).fill_opacity(10).legend(legend.show_legend(show_legend=True))
    )
    if value.unit == "share":
        builder = builder.min(0).max(1)
    if value.share_floor is not None:
        builder = builder.thresholds(_floor(value.share_floor))
    if len(spec.columns) == 3:  # time, label of the line, value
        builder = builder.display_name(f"${{__field.labels.{spec.columns[1].name}}}")
    return builder.unit(_UNITS.get(value.unit, "none"))


def _stat(spec: PanelSpec) -> stat.Panel:
    # Show all fields, because Grafana by default shows only numbers.
    reduced = common.ReduceDataOptions().calcs(["lastNotNull"]).fields("/.*/").values(values=False)
    builder = stat.Panel().graph_mode(BigValueGraphMode.NONE).color_mode(BigValueColorMode.NONE).reduce_options(reduced)
    for column in spec.columns:
        builder = builder.override_by_name(column.name, _properties(column))
    return builder


def _properties(column: Column) -> list[DynamicConfigValue]:
    properties = [DynamicConfigValue("displayName", column.name.replace("_", " "))]
    if column.unit in _UNITS:
        properties.append(DynamicConfigValue("unit", _UNITS[column.unit]))
    if column.unit == "word":
        mapped = ValueMap({word: ValueMappingResult(text=word, color=color) for word, color in _COLORS.items()})
        properties += [DynamicConfigValue("mappings", [mapped]), _colored()]
    if column.unit in _LINKS:
        properties.append(DynamicConfigValue("links", [_LINKS[column.unit]]))
    if column.share_floor is not None:
        properties += [DynamicConfigValue("thresholds", _floor(column.share_floor).build()), _colored()]
    return properties


def _colored() -> DynamicConfigValue:
    return DynamicConfigValue("custom.cellOptions", {"type": "color-text"})


def _floor(floor: float) -> ThresholdsConfig:
    steps = [Threshold(value=None, color="red"), Threshold(value=floor, color="green")]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)
