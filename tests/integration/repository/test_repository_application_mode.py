import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkfuse.stack.topics import ensure_topics
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(420), pytest.mark.long]
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def environment(
    repository: Path, tmp_path: Path, kafka_bootstrap: str, topic_prefix: str, free_port: Callable[[], int]
) -> dict[str, str]:
    """Return the environment that compose sets for a Flink job, with free ports."""
    ports = {name: str(free_port()) for name in ("FLINK_RPC_PORT", "FLINK_REST_PORT", "SPARKFUSE_METRICS_PORT")}
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    return {
        **os.environ,
        **ports,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FLINK_HOST": "127.0.0.1",
        "FLINK_SLOTS": "2",
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_HOME": str(tmp_path / "home"),
        "SPARKFUSE_FLINK_LIBS": str(repository / "build" / "flink-libs"),
    }


@pytest.fixture
def start(repository: Path, tmp_path: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Return a function that runs `flink.sh`; all its processes are stopped at the end of the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, metrics_port: str) -> "subprocess.Popen[bytes]":
        with (tmp_path / f"{arguments[0]}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(repository / "deploy" / "flink.sh"), *arguments],
                env={**environment, "FLINK_METRICS_PORT": metrics_port},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield run
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        process.wait()


def answer(port: str, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as reply:
            return str(reply.read().decode())
    except (OSError, urllib.error.URLError):
        return ""


def all_tasks_run(port: str) -> bool:
    overview = answer(port, "/jobs/overview")
    jobs = json.loads(overview)["jobs"] if overview else []
    return any(job["state"] == "RUNNING" and job["tasks"]["running"] == job["tasks"]["total"] > 0 for job in jobs)


def test_job_runs_in_application_mode(start: Start, environment: dict[str, str], free_port: Callable[[], int]):
    """The script of the image starts job manager, task manager and metrics, and stops the job on SIGTERM."""
    of_manager, of_tasks = str(free_port()), str(free_port())
    manager = start("jobmanager", "windows", metrics_port=of_manager)
    start("taskmanager", "127.0.0.1", metrics_port=of_tasks)
    wait_for(lambda: all_tasks_run(environment["FLINK_REST_PORT"]), 300, "all tasks of the job to run")
    metrics = wait_for(
        lambda: answer(environment["SPARKFUSE_METRICS_PORT"], "/metrics"), 60, "the metrics that compose looks at"
    )

    assert "sparkfuse_ticks_sent_total" in metrics
    wait_for(lambda: "_sparkfuse_window_delay_seconds{" in answer(of_tasks, "/metrics"), 60, "metrics of the tasks")
    assert "flink_jobmanager_job_numRestarts{" in answer(of_manager, "/metrics")

    manager.terminate()

    assert manager.wait(60) != 0  # a container that exits like this is restarted, unless a user stopped it
