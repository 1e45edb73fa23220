"""Runs an unchanged PySpark script with the properties file of `sparkfuse up`, as a user does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from sparkfuse.paths import ROOT, SPARK_PYTHON, require
from sparkfuse.stack.process import Process, Service

ON_ONE_MACHINE = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start(
    name: str,
    script: Path,
    arguments: tuple[str, ...],
    properties: Path,
    settings: Mapping[str, str],
    variables: Mapping[str, str],
    logs: Path,
) -> Process:
    """Start the script in the Spark environment, and write its output to a file in `logs`.

    Args:
        name: name of the process and of its log file.
        script: file of the job.
        arguments: arguments of the script.
        properties: the properties file of `sparkfuse up`.
        settings: Spark settings of this run, in addition to the properties file.
        variables: environment variables of this run.
        logs: folder of the log file.
    """
    python = require(SPARK_PYTHON)
    options = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
    environment = {
        **variables,
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {shlex.quote(str(properties))} {options} pyspark-shell",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        # Job code imports `sparkfuse` from the checkout instead of an installed distribution.
        "PYTHONPATH": os.pathsep.join([str(ROOT / "cli"), os.environ.get("PYTHONPATH", "")]),
    }
    command = [str(python), str(script), *arguments]
    service = Service(name, command, environment, restart=False, stop_seconds=20, whole_session=True)
    return Process(service, logs / f"{name}.log")


def tail(process: Process) -> str:
    """Return the last lines of a job's output, for an error message."""
    return process.last_lines(15)
