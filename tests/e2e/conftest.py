"""Starts one stack for the end-to-end tests, with the command line."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.demo import spark_job
from sparkfuse.demo.scenario import ACTION, JOBS, RULE
from sparkfuse.demo.scenario import CONFIGURATION as OF_STACK
from sparkfuse.stack.process import Process
from sparkfuse_alertmanager.receiver import Receiver
from tests.e2e.planted import CONFIGURATION, IN_CODE
from tests.waiting import wait_for

START_SECONDS = 600
CANARY = Path(__file__).parent / "jobs" / "canary.py"
OWN_SCRIPT = """\
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

def work(number):
    if number == 3:
        time.sleep(600)
    return number

spark.sparkContext.parallelize(range(8), 2).map(work).count()
"""
UP = (sys.executable, "-m", "sparkfuse.main", "up", "--free-ports")


@dataclasses.dataclass
class RunningStack:
    """A stack that `sparkfuse up` started.

    Attributes:
        home: its folder.
        addresses: where its parts listen, by the name of the setting.
        receiver: the webhook that it posts to.
        up: the process of `sparkfuse up`.
    """

    home: Path
    addresses: dict[str, str]
    receiver: Receiver
    up: subprocess.Popen[bytes]

    def ask(self, *arguments: str) -> Any:
        """Run a command with --json and return its document."""
        done = self.command(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command with the addresses of this stack."""
        command = [sys.executable, "-m", "sparkfuse.main", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **self.addresses}
        )

    def arm(self, rule: str, action: str, job: str = "*") -> None:
        """Allow an action of a rule for the jobs that match a pattern."""
        done = self.command(
            "fuse",
            "arm",
            "--rule",
            rule,
            "--action",
            action,
            "--job",
            job,
            "--reason",
            "test",
            "--home",
            str(self.home),
        )
        assert done.returncode == 0, done.stderr

    def start_job(self, name: str, script: Path, arguments: tuple[str, ...] = (), **settings: str) -> Process:
        """Start a PySpark script with the properties file that `sparkfuse up` wrote."""
        configuration = {**spark_job.ON_ONE_MACHINE, "spark.sparkfuse.job": name, **settings}
        properties = self.home / "spark.properties"
        return spark_job.start(f"job-{name}", script, arguments, properties, configuration, {}, self.home / "logs")

    def pages(self, job: str, rule: str, status: str = "firing") -> list[dict[str, Any]]:
        """Return the alerts about a job and a rule that the webhook received, one for each notification."""
        return [
            alert
            for delivery in self.receiver.deliveries
            for alert in delivery.payload["alerts"]
            if (alert["status"], alert["labels"].get("job_key"), alert["labels"].get("rule")) == (status, job, rule)
        ]


@contextlib.contextmanager
def running_stack(
    folder: Path, configuration: str, armed: Iterable[tuple[str, str]], *arguments: str
) -> Iterator[RunningStack]:
    """Run `sparkfuse up` on free ports with the text of a sparkfuse.yaml; ``armed`` are rules and their actions.

    ``arguments`` are more arguments of `sparkfuse up`.
    """
    home, file = folder / "stack", folder / "sparkfuse.yaml"
    home.mkdir()
    file.write_text(configuration)
    with Receiver() as receiver, (home / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [*UP, "--home", str(home), "--webhook", receiver.url, *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "SPARKFUSE_CONFIG": str(file)},
        )
        try:
            # `sparkfuse up` writes the settings of jobs last.
            files = [home / "stack.json", home / "spark.properties"]
            wait_for(
                lambda: all(file.exists() for file in files) or up.poll() is not None,
                START_SECONDS,
                "the stack's files",
            )
            assert up.poll() is None, (home / "up.log").read_text()
            addresses = json.loads((home / "stack.json").read_text()) | {"SPARKFUSE_CONFIG": str(file)}
            running = RunningStack(home, addresses, receiver, up)
            for rule, action in armed:
                running.arm(rule, action)
            yield running
        finally:
            up.terminate()
            up.wait(180)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """Start a stack with the configuration of the demonstration, which allows the fuse to act."""
    with running_stack(tmp_path_factory.mktemp("e2e"), OF_STACK, [(RULE, ACTION)]) as running:
        yield running


@dataclasses.dataclass
class Jobs:
    """Three jobs that run in parallel, because each of them hangs most of the time.

    Attributes:
        hung: a user's script with the properties file.
        runaway: a sort that the fuse may stop.
        canary: contains secrets, has failing tasks, and hangs at its end.
        event_logs: where the canary's event log is.
    """

    hung: Process
    runaway: Process
    canary: Process
    event_logs: Path


@pytest.fixture(scope="module")
def jobs(stack: RunningStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """Start all three jobs at once."""
    folder = tmp_path_factory.mktemp("jobs")
    script, secrets, event_logs = folder / "own_job.py", folder / "secrets.json", folder / "event-logs"
    script.write_text(OWN_SCRIPT)
    secrets.write_text(json.dumps(IN_CODE))
    event_logs.mkdir()
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": event_logs.as_uri()}
    fuse: dict[str, Any] = {"spark.sparkfuse.fuse": "act"}
    with contextlib.ExitStack() as parts:

        def start(name: str, script: Path, arguments: tuple[str, ...] = (), **settings: str) -> Process:
            job = stack.start_job(name, script, arguments, **settings)
            parts.callback(job.stop)
            return job

        yield Jobs(
            hung=start("own_job", script),
            canary=start("canary", CANARY, (str(secrets),), **logged, **CONFIGURATION, **{"spark.sparkfuse.job": ""}),
            runaway=start("runaway_sort", JOBS / "runaway_sort.py", **fuse),
            event_logs=event_logs,
        )
