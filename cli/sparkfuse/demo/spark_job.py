"""Runs a PySpark script as a user would: the plugin's jar, a few lines of configuration, nothing in the script."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from sparkfuse.paths import PLUGIN_JAR, ROOT, SPARK_PYTHON, require
from sparkfuse.stack.process import Process, Service

ON_ONE_MACHINE = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def with_plugin(bootstrap: str, job: str) -> dict[str, str]:
    """The configuration that Sparkfuse needs: a jar, the plugin's class, and where the broker is.

    `spark.sparkfuse.job` names the job; without it the application's name does.
    """
    return {
        "spark.jars": str(require(PLUGIN_JAR)),
        "spark.plugins": "io.sparkfuse.spark.SparkfusePlugin",
        "spark.sparkfuse.kafka.bootstrap": bootstrap,
        "spark.sparkfuse.job": job,
    }


def start(
    name: str,
    script: Path,
    arguments: tuple[str, ...],
    settings: Mapping[str, str],
    more: Mapping[str, str],
    logs: Path,
) -> Process:
    """Start the script in the Spark environment; its output goes to a file in `logs`."""
    python = require(SPARK_PYTHON)
    options = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
    environment = {
        **more,
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        # Job code takes the hook from the checkout, as it would from the installed base distribution.
        "PYTHONPATH": os.pathsep.join([str(ROOT / "cli"), os.environ.get("PYTHONPATH", "")]),
    }
    command = [str(python), str(script), *arguments]
    service = Service(name, command, environment, restart=False, stop_seconds=20, whole_session=True)
    return Process(service, logs / f"{name}.log")


def tail(process: Process) -> str:
    """The end of a job's output, for a message about it."""
    return process.last_lines(15)
