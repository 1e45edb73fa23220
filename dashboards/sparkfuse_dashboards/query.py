"""The ClickHouse query of a panel, with the fields that the plugin needs; Grafana's SDK has no type for it."""

from __future__ import annotations

from typing import Literal

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from sparkfuse_contracts.assets import asset

PLUGIN = "grafana-clickhouse-datasource"
PLUGIN_VERSION = "4.8.2"
DATASOURCE_UID = "sparkfuse-clickhouse"
DATASOURCE = DataSourceRef(type_val=PLUGIN, uid=DATASOURCE_UID)
Shape = Literal["table", "timeseries"]
_FORMATS = {"timeseries": 0, "table": 1}


class ClickHouseQuery(Dataquery, Builder["ClickHouseQuery"]):
    """One query; with ``timeseries``, the first column is the time, and each value of the second column is one line."""

    def __init__(self, sql: str, shape: Shape) -> None:
        self.sql = sql
        self.shape = shape

    def build(self) -> ClickHouseQuery:
        """Return the query itself, because it has no defaults to fill in."""
        return self

    def to_json(self) -> dict[str, object]:
        """Return the query as a target of a panel in Grafana's JSON format."""
        return {
            "refId": "A",
            "datasource": DATASOURCE,
            "editorType": "sql",
            "queryType": self.shape,
            "format": _FORMATS[self.shape],
            "rawSql": self.sql,
            "pluginVersion": PLUGIN_VERSION,
        }


def read_sql(dashboard: str, name: str) -> str:
    """Return the SQL of dashboards/queries/<dashboard>/<name>.sql."""
    return asset("sparkfuse_dashboards", "queries", dashboard, f"{name}.sql").read_text().strip()
