"""Record the event logs of tests/logs/deaths again: ``python tests/logs/make_deaths.py [NAME…]``.

Each log is of an application that ends in one way (Deaths.java), most of them badly. Half a minute per log.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.logs.make_logs import (
    JOB_SECONDS,
    SETTINGS,
    STAGE,
    configuration,
    spark_home,
    start,
)
from tests.waiting import wait_for

DEATHS = Path(__file__).parent / "deaths"
ENVIRONMENT = "spark35"
CLUSTER = {"spark.master": "local-cluster[1,2,512]", "spark.executor.memory": "512m"}
KILLED = "wait"
"""The scenario of a job that waits until its JVM is killed."""


@dataclass(frozen=True)
class Death:
    """One log to record: the scenario of Deaths.java, its settings and options of its JVM."""

    scenario: str
    settings: dict[str, str] = field(default_factory=dict)
    options: str = ""


LOGS = {
    "clean": Death("clean"),
    "no-stop": Death("no_stop"),
    "stopped": Death("stop"),
    "exit": Death("exit"),
    "exit-between-jobs": Death("exit_between_jobs"),
    "killed": Death(KILLED, {"spark.eventLog.buffer.kb": "1k"}),
    "heap": Death("heap"),
    "metaspace": Death("metaspace", options="-XX:MaxMetaspaceSize=160m"),
    "direct": Death("direct", options="-XX:MaxDirectMemorySize=48m"),
    "skewed-heap": Death("skewed_heap"),
    "stopped-cluster": Death("stop", CLUSTER),
    "killed-cluster": Death(KILLED, CLUSTER | {"spark.eventLog.buffer.kb": "1k"}),
}


def main() -> None:
    """Record the named logs, or all logs if none is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*LOGS, []], help="logs to record; all by default")
    program = build()
    for name in parser.parse_args().names or LOGS:
        (recorded,) = run(LOGS[name], program, STAGE / "events" / f"death-{name}").glob("[al]*-*")
        DEATHS.mkdir(exist_ok=True)
        content = recorded.read_bytes()
        (DEATHS / f"{name}{''.join(recorded.suffixes)}").write_bytes(content)
        print(name, len(content), "bytes", flush=True)


def build() -> Path:
    """Compile Deaths.java, and return the jar."""
    classes, jar = STAGE / "classes", STAGE / "deaths.jar"
    shutil.rmtree(classes, ignore_errors=True)
    source = Path(__file__).with_name("Deaths.java")
    subprocess.run(["javac", "-cp", f"{spark_home(ENVIRONMENT)}/jars/*", "-d", str(classes), str(source)], check=True)
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
    return jar


def run(death: Death, program: Path, folder: Path) -> Path:
    """Run the application until it ends, and return the folder with its log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marker = STAGE / "marker"
    marker.unlink(missing_ok=True)
    options = {"spark.driver.extraJavaOptions": death.options} if death.options else {}
    packed = {"spark.eventLog.compress": "true"} if death.scenario != KILLED else {}
    settings = SETTINGS | packed | death.settings | options | {"spark.eventLog.dir": f"file://{folder}"}
    command = ["spark-submit", *configuration(settings), "--class", "Deaths", str(program), death.scenario, str(marker)]
    with (STAGE / "death.log").open("w") as output, contextlib.ExitStack() as processes:
        application = start(ENVIRONMENT, command, output, processes)  # spark-submit becomes the JVM
        if death.scenario == KILLED:
            try:
                wait_for(marker.exists, JOB_SECONDS, "a task of the job")
            finally:
                os.kill(application.pid, signal.SIGKILL)
        print(death.scenario, "ended with", application.wait(JOB_SECONDS), flush=True)
    return folder


if __name__ == "__main__":
    main()
