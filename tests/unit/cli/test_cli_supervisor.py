"""Tests that the supervisor starts, restarts and stops real processes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.process import Service
from sparkfuse.stack.supervisor import Supervisor
from tests.processes import alive
from tests.waiting import wait_for

WAITS = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    ),
]


def test_exited_process_is_restarted(tmp_path: Path) -> None:
    """A killed service runs with a new process id, and the restart is counted and reported."""
    events: list[str] = []
    supervisor = Supervisor(tmp_path, lambda name, event: events.append(f"{name}: {event}"))
    try:
        supervisor.start(Service("sleeper", WAITS))
        first = supervisor.processes["sleeper"].pid
        os.kill(first, signal.SIGKILL)

        def restarted() -> bool:
            supervisor.poll()
            return supervisor.processes["sleeper"].pid != first

        wait_for(restarted, 60, "the sleeper's restart")

        assert supervisor.restarts == {"sleeper": 1}
        assert any("exited with -9" in event for event in events)
    finally:
        supervisor.stop()


def test_service_is_restarted_on_request(tmp_path: Path) -> None:
    """The request file is deleted when the service is ready, or immediately if the service is unknown."""
    requests = tmp_path / "requests"
    requests.mkdir()
    ready = tmp_path / "ready"
    ready.touch()
    supervisor = Supervisor(tmp_path, requests=requests)
    try:
        supervisor.start(Service("sleeper", WAITS, ready=ready.exists))
        first = supervisor.processes["sleeper"].pid
        ready.unlink()
        (requests / "sleeper").touch()
        (requests / "unknown").touch()
        supervisor.poll()
        supervisor.poll()

        assert not alive(first)
        assert supervisor.processes["sleeper"].pid != first
        assert [each.name for each in requests.iterdir()] == ["sleeper"]
        assert supervisor.restarts == {}
        ready.touch()
        supervisor.poll()
        assert list(requests.iterdir()) == []
    finally:
        supervisor.stop()


def test_service_that_hangs_at_restart_is_restarted(tmp_path: Path) -> None:
    """A service that is not ready in time after a restart is restarted again."""
    ready = tmp_path / "ready"
    ready.touch()
    events: list[str] = []
    supervisor = Supervisor(tmp_path, lambda _name, event: events.append(event))
    try:
        supervisor.start(Service("sleeper", WAITS, ready=ready.exists, ready_seconds=0.5))
        ready.unlink()
        os.kill(supervisor.processes["sleeper"].pid, signal.SIGKILL)

        def hung_twice() -> bool:
            supervisor.poll()
            return events.count("not ready after 0.5 s, restarting") == 2

        wait_for(hung_twice, 60, "two restarts of the hanging service")
        ready.touch()
        hung = supervisor.processes["sleeper"].pid
        supervisor.poll()

        assert events[-1] == "ready after restart"
        assert supervisor.processes["sleeper"].pid == hung
        assert supervisor.restarts == {"sleeper": 3}
    finally:
        supervisor.stop()


def test_stop_ends_all_processes(tmp_path: Path) -> None:
    """A service that ignores SIGTERM is killed after its stop timeout, together with its child process."""
    supervisor = Supervisor(tmp_path)
    service = Service(
        "stubborn", STUBBORN, stop_seconds=0.5, ready=lambda: (tmp_path / "stubborn.log").stat().st_size > 0
    )
    supervisor.start(service)
    process = supervisor.processes["stubborn"]
    child = int(process.last_lines())

    supervisor.stop()

    assert not alive(process.pid)
    assert not alive(child)


def test_failed_start_shows_the_end_of_the_log(tmp_path: Path) -> None:
    """If a service exits before it is ready, there is one error with the end of the service's log."""
    command = [sys.executable, "-c", "import sys; sys.exit('the disk is full')"]
    supervisor = Supervisor(tmp_path)

    with pytest.raises(StartError, match=r"(?s)broken exited with 1:.*the disk is full"):
        supervisor.start(Service("broken", command, ready=lambda: False))
    supervisor.stop()
