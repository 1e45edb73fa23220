"""Adds files that are not Python to the wheel, where `sparkfuse_contracts.assets` finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Folder of a component, its package, and the files and folders that the package reads at run time.
ASSETS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "alertmanager",
        "sparkfuse_alertmanager",
        ("alertmanager.yml", "prometheus.yml", "prometheus_rules", "templates", "targets"),
    ),
    # The folder docs belongs to no component; the console publishes it.
    (".", "sparkfuse_console", ("docs",)),
    ("console", "sparkfuse_console", ("static", "templates")),
    (
        "contracts",
        "sparkfuse_contracts",
        (
            "topics.yaml",
            "kafka_acls.yaml",
            "shared",
            "spark_configuration.yaml",
            "examples",
            "generated/clickhouse",
            "generated/flink",
            "generated/descriptors.binpb",
            "generated/json_schema",
            "generated/tables.json",
            "generated/views.json",
        ),
    ),
    ("dashboards", "sparkfuse_dashboards", ("generated", "provisioning", "queries", "report", "vendor")),
    ("native_analytics", "sparkfuse_native_analytics", ("schema",)),
    ("rules", "sparkfuse_rules", ("catalog", "failure_classes.yaml", "generated", "prices.yaml")),
    ("stream_jobs", "sparkfuse_stream_jobs", ("sql", "log4j.properties", "flink.yaml")),
)


class WheelAssets(BuildHookInterface):  # type: ignore[type-arg]  # the hook works for any builder's configuration
    """The hook that hatchling calls before it builds; an editable install reads the checkout itself."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the assets to a wheel that is not editable.

        Raises:
            FileNotFoundError: an asset is not in the checkout.
        """
        if version != "standard":
            return
        for room, package, names in ASSETS:
            for name in names:
                source = Path(self.root) / room / name
                if not source.exists():
                    raise FileNotFoundError(f"{room}/{name}, which the wheel must contain, is missing in the checkout")
                build_data["force_include"][str(source)] = f"{package}/assets/{name}"
