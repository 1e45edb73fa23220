"""One running stack for the end-to-end tests, started by the command line as a user would."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.demo import spark_job
from sparkfuse.demo.scenario import CONFIGURATION
from sparkfuse.stack.process import Process
from sparkfuse_alertmanager.receiver import Receiver
from tests.waiting import wait_for

START_SECONDS = 600
UP = (sys.executable, "-m", "sparkfuse.main", "up", "--free-ports")


@dataclasses.dataclass
class RunningStack:
    """A stack that `sparkfuse up` runs.

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
        """What the command line answers with --json."""
        done = self.command(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line, with the addresses of this stack."""
        command = [sys.executable, "-m", "sparkfuse.main", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **self.addresses}
        )

    def start_job(self, name: str, script: Path, arguments: tuple[str, ...] = (), **settings: str) -> Process:
        """Start a PySpark script with the plugin."""
        configuration = {
            **spark_job.ON_ONE_MACHINE,
            **spark_job.with_plugin(self.addresses["SPARKFUSE_KAFKA_BOOTSTRAP"], name),
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
        return spark_job.start(f"job-{name}", script, arguments, configuration, {}, self.home / "logs")

    def pages(self, job: str, rule: str, status: str = "firing") -> list[dict[str, Any]]:
        """Alerts about a job and rule that reached the webhook, one for each notification."""
        return [
            alert
            for delivery in self.receiver.deliveries
            for alert in delivery.payload["alerts"]
            if alert["status"] == status and alert["labels"]["job_key"] == job and alert["labels"]["rule"] == rule
        ]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """`sparkfuse up` on free ports with a configuration that lets the fuse act."""
    home = tmp_path_factory.mktemp("stack")
    configuration = home / "sparkfuse.yaml"
    configuration.write_text(CONFIGURATION)
    with Receiver() as receiver, (home / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [*UP, "--home", str(home), "--webhook", receiver.url],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "SPARKFUSE_CONFIG": str(configuration)},
        )
        try:
            wait_for(
                lambda: (home / "stack.json").exists() or up.poll() is not None, START_SECONDS, "the stack's addresses"
            )
            assert up.poll() is None, (home / "up.log").read_text()
            yield RunningStack(home, json.loads((home / "stack.json").read_text()), receiver, up)
        finally:
            up.terminate()
            up.wait(180)
