"""Runs jobs that stop with a savepoint or start from one, at a fixed time for the expiry of state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.topics import topics
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from sparkfuse_stream_jobs.environment import DEFAULT_JVM_ARGS
from tests.integration.stream_jobs.upgrade_facts import START_MS
from tests.kafka import settings_of
from tests.waiting import wait_for

PREFIX = "upgrade"
"""The prefix of the topics, which the state of the sources in a savepoint contains."""
MODULE = "tests.integration.stream_jobs.savepoint_job"
START_SECONDS = 240
# Flink's clock for the expiry of state. State in a fixture must not expire because the fixture is old.
_CLOCK = f"""
package org.apache.flink.runtime.state.ttl;
public interface TtlTimeProvider {{
  TtlTimeProvider DEFAULT = () -> {START_MS}L;
  long currentTimestamp();
}}
"""


def environment_of(job: str, bootstrap: str, home: Path) -> dict[str, str]:
    """Return the environment of a job whose state does not expire."""
    classes = home / "clock"
    classes.mkdir(parents=True, exist_ok=True)
    source = classes / "TtlTimeProvider.java"
    source.write_text(_CLOCK)
    subprocess.run(["javac", "--release", "17", "-d", classes, source], check=True, timeout=120)
    return {
        "SPARKFUSE_HOME": str(home / job),
        "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": PREFIX,
        "JVM_ARGS": f"{DEFAULT_JVM_ARGS} -Xbootclasspath/a:{classes}",
    }


def start_from(savepoint: Path, job: str, home: Path) -> None:
    """Copy a savepoint to the checkpoints of a job that has not run, so that the job starts from it."""
    shutil.copytree(savepoint, checkpoint_directory(home, job) / "savepoint" / "chk-1")


def create_topics(bootstrap: str, config: Mapping[str, str]) -> None:
    """Create all topics of the prefix again, empty; without ``config``, the topics are as the contract defines them."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = {f"{PREFIX}.{name}": topic for name, topic in topics().items()}
    present = [name for name in admin.list_topics(timeout=30).topics if name in names]
    for deleted in admin.delete_topics(present).values() if present else ():
        deleted.result(60)
    wait_for(lambda: not set(admin.list_topics(timeout=30).topics) & set(names), 60, "the topics to be deleted")
    if not config:
        ensure_topics(settings_of(bootstrap, PREFIX))
        return
    # A second partition of the facts would need ticks.
    partitions = {name: topic.partitions if name != f"{PREFIX}.facts" else 1 for name, topic in names.items()}
    created = [NewTopic(name, count, 1, config=dict(config)) for name, count in partitions.items()]
    for each in admin.create_topics(created).values():
        each.result(60)


class SavepointJob:
    """One process of ``savepoint_job``."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, *arguments],
                env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True,
            )  # fmt: skip

    def wait_until_running(self) -> None:
        """Wait until the job is submitted."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() == "running":
                return
        raise AssertionError(f"the job ended while it started; see {self._log}:\n{self._log.read_text()[-3000:]}")

    def stop_with_savepoint(self, folder: Path) -> Path:
        """Stop the job, and return the savepoint that it wrote into the folder."""
        output, _ = self._process.communicate(f"{folder.as_uri()}\n", timeout=START_SECONDS)
        assert self._process.returncode == 0, self._log.read_text()[-3000:]
        return Path(output.strip().splitlines()[-1].removeprefix("file:"))

    def wait_until_ended(self) -> tuple[int, str]:
        """Wait until the job ends by itself, and return the exit code and the log."""
        return self._process.wait(START_SECONDS), self._log.read_text()

    def kill(self) -> None:
        """Kill the job and its JVM with SIGKILL."""
        for each in psutil.Process(self._process.pid).children(recursive=True):
            each.kill()
        self._process.kill()
        self._process.wait(START_SECONDS)

    def stop(self) -> None:
        """Stop the job without a savepoint, if it runs."""
        if self._process.poll() is None:
            self._process.communicate(timeout=START_SECONDS)
