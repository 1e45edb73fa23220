"""Starts a standalone master with one worker, as two processes."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.process import Process, Service
from tests.integration.collectors.spark_runs import ENVIRONMENTS
from tests.waiting import wait_for

START_SECONDS = 120


@contextlib.contextmanager
def standalone_master(
    version: str, folder: Path, web_port: int | None = None, cores: int = 2, memory: str = "1g"
) -> Iterator[str]:
    """Yield the address of a master with one registered worker; the files of its executors are in the folder."""
    home = next(ENVIRONMENTS[version].parents[1].glob("lib/python*/site-packages/pyspark"))
    port, free_port, worker_ui = free_ports(3)
    master_ui = web_port or free_port
    address = f"spark://127.0.0.1:{port}"
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", str(cores), "--memory", memory]
    commands = {
        "master": [*master, "--webui-port", str(master_ui)],
        "worker": [*worker, "--webui-port", str(worker_ui), "--work-dir", str(folder / "work"), address],
    }
    scala = next(home.glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0]
    # Set by bin/load-spark-env.sh; without it a worker expects a source checkout of Spark.
    environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala, "SPARK_LOCAL_IP": "127.0.0.1"}
    java = ["java", "-Xmx256m", "-cp", f"{home}/jars/*"]
    processes: list[Process] = []
    try:
        for name, command in commands.items():
            log = folder / f"{name}.log"
            processes.append(Process(Service(name, [*java, *command], environment), log))
            sign = {"master": "I have been elected leader", "worker": "Successfully registered with master"}[name]
            wait_for(lambda log=log, sign=sign: sign in log.read_text(), START_SECONDS, f"'{sign}'")
        yield address
    finally:
        for process in reversed(processes):
            process.stop()


def application_states(url: str) -> dict[str, str]:
    """Return the state of each application that runs on the master or has ended there."""
    with urllib.request.urlopen(f"{url}/json/", timeout=10) as reply:
        content = json.load(reply)
    return {each["id"]: each["state"] for each in (*content["activeapps"], *content["completedapps"])}


def driver_of(pid: int) -> psutil.Process:
    """Return the driver's JVM, a child of the process of a script."""
    return next(each for each in psutil.Process(pid).children(recursive=True) if each.name() == "java")


def executors_of(app_id: str) -> dict[str, psutil.Process]:
    """Return the JVMs of an application's executors by the executor's id."""
    found = {}
    for process in psutil.process_iter(["name", "cmdline"]):
        command = process.info["cmdline"] or []
        if process.info["name"] == "java" and app_id in command and "--executor-id" in command:
            found[command[command.index("--executor-id") + 1]] = process
    return found
