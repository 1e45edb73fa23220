"""The configuration of a job that reports to the embedded stack, as one properties file for spark-submit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sparkfuse.paths import PLUGIN_JAR, require
from sparkfuse.stack.layout import Layout
from sparkfuse.stack.outputs import public_key_file

PLUGIN_CLASS = "io.sparkfuse.spark.SparkfusePlugin"


def job_properties(layout: Layout) -> Mapping[str, str]:
    """Return the Spark settings of a job: the plugin's jar and class, the broker, and the key that verifies signals.

    Raises:
        StartError: the plugin's jar is not built.
    """
    return {
        "spark.jars": str(require(PLUGIN_JAR)),
        "spark.plugins": PLUGIN_CLASS,
        "spark.sparkfuse.kafka.bootstrap": layout.kafka_bootstrap,
        "spark.sparkfuse.fuse.publicKeys": str(public_key_file(layout)),
    }


def write_job_properties(layout: Layout) -> Path:
    """Write the settings to ``<home>/spark.properties`` and return its path.

    The file stays when the stack stops, because a job must never fail because the file is missing.
    """
    lines = [f"{key} {_escaped(value)}" for key, value in job_properties(layout).items()]
    path = layout.home / "spark.properties"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(
        "# For spark-submit --properties-file; written by `sparkfuse up`.\n" + "\n".join(lines) + "\n"
    )
    unfinished.replace(path)
    return path


def submit_command(properties: Path) -> str:
    """Return the command that runs a job with these settings, with a path relative to the current folder."""
    return f"spark-submit --properties-file {os.path.relpath(properties)} job.py"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")  # java.util.Properties reads a backslash as an escape
