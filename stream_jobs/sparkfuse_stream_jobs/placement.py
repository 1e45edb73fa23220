"""Where a job runs: in the mini cluster of this process, or on a Flink cluster that its configuration describes."""

from __future__ import annotations

import os

# Flink's client and the job manager in application mode set this variable for the Python program that they start.
GATEWAY_PORT = "PYFLINK_GATEWAY_PORT"
# Flink's name of application mode, in which the program of a job runs in the job manager.
APPLICATION_TARGET = "embedded"


def on_cluster() -> bool:
    """Return whether Flink started this program; then Flink's configuration decides where and how the job runs."""
    return GATEWAY_PORT in os.environ


def runs_beside_job() -> bool:
    """Return whether this program runs as long as its job: in the mini cluster, and in application mode.

    A program that `flink run` started ends after it has submitted the job to a session cluster.
    """
    return not on_cluster() or _target() == APPLICATION_TARGET


def _target() -> str:
    from pyflink.java_gateway import get_gateway

    jvm = get_gateway().jvm.org.apache.flink
    environment = jvm.streaming.api.environment.StreamExecutionEnvironment.getExecutionEnvironment()
    return str(environment.getConfiguration().get(jvm.configuration.DeploymentOptions.TARGET))
