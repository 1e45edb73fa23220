"""The configuration of a Spark job that reports to the embedded stack: one properties file for spark-submit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sparkfuse.hook_driver import PRICE
from sparkfuse.paths import PLUGIN_JAR, require
from sparkfuse.stack.layout import Layout
from sparkfuse.stack.outputs import public_keys
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.policies import policy_file
from sparkfuse_rules.prices import read_prices

PLUGIN_CLASS = "io.sparkfuse.spark.SparkfusePlugin"


def job_properties(layout: Layout) -> Mapping[str, str]:
    """Return the Spark settings of a job: the plugin, the broker, and the keys and policies that the hook uses.

    Raises:
        StartError: the plugin's jar is not built.
    """
    security = {"spark.sparkfuse.kafka.configFile": layout.kafka_config} if layout.kafka_config else {}
    return {
        "spark.jars": str(require(PLUGIN_JAR)),
        "spark.plugins": PLUGIN_CLASS,
        "spark.sparkfuse.kafka.bootstrap": layout.kafka_bootstrap,
        **security,
        "spark.sparkfuse.fuse.publicKeys": public_keys(layout),
        "spark.sparkfuse.fuse.policies": str(_policies(layout)),
    }


def write_job_properties(layout: Layout, settings: Settings) -> Path:
    """Write the policies and settings of a job to ``<home>/spark.properties``, and return the path of this file.

    The file remains when the stack stops, so that no job fails because of a missing file.
    """
    _policies(layout).write_text(policy_lines(settings))
    properties = {**job_properties(layout), PRICE: core_hour_price(settings)}
    lines = [f"{key} {_escaped(value)}" for key, value in properties.items()]
    path = layout.home / "spark.properties"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(
        "# For spark-submit --properties-file; written by `sparkfuse up`.\n" + "\n".join(lines) + "\n"
    )
    unfinished.replace(path)
    return path


def core_hour_price(settings: Settings) -> str:
    """Return the price of a core-hour for limits of job code, or off. Raises RuleError for errors in sparkfuse.yaml."""
    prices = read_prices(settings.config_file)
    return "off" if prices is None else f"{prices.core_hour:.10g}"


def policy_lines(settings: Settings) -> str:
    """Return the policies of all rules with a fuse as lines of JSON, with the thresholds of sparkfuse.yaml.

    Raises RuleError for errors in sparkfuse.yaml.
    """
    variants = (
        variant
        for rule in load_catalog(overrides=settings.config_file).with_fuse()
        for variant in (rule, *(each for _, each in rule.variants if each is not None))
    )
    return policy_file(variants)


def _policies(layout: Layout) -> Path:
    return (layout.home / "fuse_policies.jsonl").absolute()


def submit_command(properties: Path) -> str:
    """Return the command that runs a job with these settings, with a path relative to the current folder."""
    return f"spark-submit --properties-file {os.path.relpath(properties)} job.py"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")  # java.util.Properties reads a backslash as an escape
