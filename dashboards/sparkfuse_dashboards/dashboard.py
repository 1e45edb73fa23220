"""A dashboard as data, and its conversion to Grafana's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DashboardLinkType, VariableRefresh, VariableSort

from sparkfuse_dashboards.panel import PanelSpec, build_panel
from sparkfuse_dashboards.query import DATASOURCE, PLUGIN_VERSION

TAG = "sparkfuse"


@dataclass(frozen=True)
class Row:
    """A row of panels with a title."""

    title: str
    panels: tuple[PanelSpec, ...]


@dataclass(frozen=True)
class Variable:
    """A variable of a dashboard; the first column of its query is the value, the second column the label."""

    name: str
    label: str
    sql: str


@dataclass(frozen=True)
class DashboardSpec:
    """One dashboard; ``since`` is the start of its default time range, such as now-1h."""

    uid: str
    title: str
    description: str
    since: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...] = ()

    @property
    def panels(self) -> tuple[PanelSpec, ...]:
        """Return all panels from top to bottom."""
        return tuple(panel for row in self.rows for panel in row.panels)


def to_json(spec: DashboardSpec) -> str:
    """Return the JSON of the dashboard for Grafana; the same specification always gives the same text."""
    builder = (
        builders.Dashboard(spec.title)
        .uid(spec.uid)
        .description(spec.description)
        .tags([TAG])
        .time(spec.since, "now")
        .timezone("browser")
        .refresh("5s")
        .readonly()
        .link(_link_to_others())
    )
    for variable in spec.variables:
        builder = builder.with_variable(_variable(variable))
    panel_id = 0
    for row in spec.rows:
        panel_id += 1
        builder = builder.with_row(builders.Row(row.title).id(panel_id))
        for panel in row.panels:
            panel_id += 1
            builder = builder.with_panel(build_panel(panel, panel_id))
    return json.dumps(builder.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _link_to_others() -> builders.DashboardLink:
    return (
        builders.DashboardLink("Sparkfuse")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(as_dropdown=True)
        .keep_time(keep_time=True)
    )


def _variable(variable: Variable) -> builders.QueryVariable:
    query: dict[str, object] = {
        "refId": variable.name,
        "editorType": "sql",
        "queryType": "table",
        "rawSql": variable.sql,
        "pluginVersion": PLUGIN_VERSION,
    }
    return (
        builders.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.DISABLED)
    )
