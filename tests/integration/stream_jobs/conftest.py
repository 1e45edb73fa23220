"""Fixtures that start and kill Flink jobs on the shared broker, as the supervisor does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import alive
from tests.waiting import wait_for

START_SECONDS = 240


class RunningJob:
    """One process of a job and its JVM.

    ``environment`` contains all settings of the job; the job's output is written to ``log``.
    """

    def __init__(self, module: str, environment: dict[str, str], log: Path) -> None:
        self._log = log
        name = "-".join(filter(None, (module.rpartition(".")[2], environment.get("SPARKFUSE_SOURCE"))))
        self._lock = Path(environment["SPARKFUSE_HOME"], f"{name}.lock")
        self._lock.unlink(missing_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module], env={**os.environ, **environment}, stdout=output, stderr=output
            )

    def wait_until_running(self) -> None:
        """Wait until the job is submitted."""
        wait_for(self._runs, START_SECONDS, f"the job to run; see {self._log}")

    def kill(self) -> None:
        """Kill launcher and JVM at the same time, like a crash of the machine."""
        java = self.java()
        self._process.kill()
        os.kill(java, signal.SIGKILL)
        self._process.wait(30)
        wait_for(lambda: not alive(java), 60, "the JVM to exit")

    def stop(self) -> int:
        """Stop the job with SIGTERM and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(120)

    def exit_code(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._process.poll()

    def java(self) -> int:
        """Return the process id of the JVM."""
        return int(self._lock.read_text())

    def _runs(self) -> bool:
        if self._process.poll() is not None:
            pytest.fail(f"the job ended while it started:\n{self._log.read_text()[-2000:]}")
        return self._lock.exists() and self._lock.read_text().strip().isdigit()


@pytest.fixture(scope="module")
def start_job() -> Iterator[Callable[[str, dict[str, str], Path], RunningJob]]:
    """Return a function that starts the module of a job; running jobs are stopped after the tests."""
    jobs: list[RunningJob] = []

    def start(module: str, environment: dict[str, str], log: Path) -> RunningJob:
        jobs.append(RunningJob(module, environment, log))
        return jobs[-1]

    yield start
    for job in jobs:
        if job.exit_code() is None:
            job.stop()
