"""ClickHouse's query in a panel: the foundation SDK has none, so this is the little that the plugin wants."""

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
    """One statement; ``timeseries`` wants a time column first and makes a line of each text in the next."""

    def __init__(self, sql: str, shape: Shape) -> None:
        self.sql = sql
        self.shape = shape

    def build(self) -> ClickHouseQuery:
        """The query is its own builder: there is nothing to default."""
        return self

    def to_json(self) -> dict[str, object]:
        """The target as Grafana keeps it."""
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
    """The statement of dashboards/queries/<dashboard>/<name>.sql."""
    return asset("sparkfuse_dashboards", "queries", dashboard, f"{name}.sql").read_text().strip()
