"""Tests drivers of two users: if the fuse stops one user's query, the other user is not affected."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.integration.collectors.spark_runs import ENVIRONMENTS
from tests.integration.hook.conftest import JOBS, SHARED, policy_hash
from tests.waiting import wait_for

CONNECT = ENVIRONMENTS["connect"]
SERVER = "io.sparkfuse.spark.SparkfusePlugin,org.apache.spark.sql.connect.SparkConnectPlugin"


class User:
    """A process of one user."""

    def __init__(self, port: str, name: str) -> None:
        command = [str(CONNECT), str(JOBS / "connect_client.py"), port, name]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def line(self, word: str) -> str:
        """Wait for a line that begins with a word."""
        return wait_for(
            lambda: next((line for line in self.lines if line.startswith(word)), None), 120, f"{word} in {self.lines}"
        )

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(60)
        self._reader.join(10)


@pytest.fixture
def connect_user() -> Iterator[Callable[[str, str], User]]:
    users: list[User] = []

    def run(port: str, name: str) -> User:
        users.append(User(port, name))
        return users[-1]

    yield run
    for user in users:
        user.stop()


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.skipif(not CONNECT.exists(), reason="make build/stamps/env-connect creates the environment")
def test_only_the_query_of_one_user_is_stopped(start, connect_user, fuse, facts, free_port):
    port = str(free_port())
    settings = {
        "spark.plugins": SERVER,
        "spark.master": "local[4]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    target, _ = start("connect", "connect_server.py", **settings)
    ann = connect_user(port, "ann")
    wait_for(target.running, 240, "the query of ann")
    bob = connect_user(port, "bob")
    tasks = wait_for(lambda: len(found := target.running()) == 4 and found, 240, "the tasks of both users")
    queries = {
        user: next(job for job in facts.of("job_started") if any(f"User_{user}_" in tag for tag in job.job_tags))
        for user in ("ann", "bob")
    }
    stages = {
        user: next(task.stage_id for task in tasks if task.stage_id in job.stage_ids) for user, job in queries.items()
    }

    target.send("all", 1, action="cancel_jobs", policy_hash=policy_hash(SHARED), stage_id=stages["ann"])
    assert fuse.receipt("all")["gate"] == "shared_driver"
    mixed = {"action": "cancel_query", "policy_hash": policy_hash(SHARED), "stage_id": stages["ann"]}
    target.send("mixed", 2, query_id=queries["bob"].sql_execution_id, **mixed)
    assert fuse.receipt("mixed")["gate"] == "target"
    target.send("ann", 3, query_id=queries["ann"].sql_execution_id, **mixed)

    assert "SPARKFUSE_FUSE_BLOWN" in ann.line("FAILED")
    assert ann.line("USABLE") == "USABLE 10"
    assert (fuse.receipt("ann")["outcome"], fuse.receipt("ann")["freed_tasks"]) == ("ended", 2)
    assert {task.stage_id for task in target.running()} == {stages["bob"]}
    assert bob.running
    assert not any(line.startswith("FAILED") for line in bob.lines)


@pytest.mark.timeout(600)
def test_driver_of_two_owners_stays_shared_while_one_works(start, fuse, until):
    """After jobs of two owners ran at the same time, the hook stops no stage or application of the driver."""
    target, _ = start("spark35", "two_owners.py")
    target.job.wait_for_line("ALONE")
    [bob] = wait_for(lambda: len(found := target.running()) == 1 and found, 120, "the task of bob, which runs alone")
    for number, action in enumerate(("cancel_stage", "cancel_jobs", "stop_application", "kill_task"), 1):
        target.send(action, number, action=action, task_id=bob.task_id)
        receipt = fuse.receipt(action)
        assert (receipt["gate"], receipt["outcome"]) == ("shared_driver", "refused"), receipt
        assert "has run jobs of several users" in receipt["reason"]
    until.touch()

    assert target.job.wait_for_line("RESULT bob") == "[1]"
