"""The supervisor starts, restarts and ends real processes."""

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


def test_a_process_that_ends_is_started_again(tmp_path: Path) -> None:
    """A killed service runs again with another process id, and the restart is counted and reported."""
    events: list[str] = []
    supervisor = Supervisor(tmp_path, lambda name, event: events.append(f"{name}: {event}"))
    try:
        supervisor.start(Service("sleeper", WAITS))
        first = supervisor.processes["sleeper"].pid
        os.kill(first, signal.SIGKILL)

        def runs_again() -> bool:
            supervisor.tend()
            return supervisor.processes["sleeper"].pid != first

        wait_for(runs_again, 60, "the sleeper's restart")

        assert supervisor.restarts == {"sleeper": 1}
        assert any("ended with -9" in event for event in events)
    finally:
        supervisor.stop()


def test_a_service_is_started_again_when_asked(tmp_path: Path) -> None:
    """A file with its name asks; it is gone when the service is ready, and one of a stranger at once."""
    asked = tmp_path / "asked"
    asked.mkdir()
    ready = tmp_path / "ready"
    ready.touch()
    supervisor = Supervisor(tmp_path, asked=asked)
    try:
        supervisor.start(Service("sleeper", WAITS, ready=ready.exists))
        first = supervisor.processes["sleeper"].pid
        ready.unlink()
        (asked / "sleeper").touch()
        (asked / "stranger").touch()
        supervisor.tend()
        supervisor.tend()

        assert not alive(first)
        assert supervisor.processes["sleeper"].pid != first
        assert [each.name for each in asked.iterdir()] == ["sleeper"]
        assert supervisor.restarts == {}
        ready.touch()
        supervisor.tend()
        assert list(asked.iterdir()) == []
    finally:
        supervisor.stop()


def test_a_restarted_service_that_hangs_while_it_starts_is_started_again(tmp_path: Path) -> None:
    """A full disk made Prometheus hang in its start for ever; nobody but the supervisor can see that."""
    ready = tmp_path / "ready"
    ready.touch()
    events: list[str] = []
    supervisor = Supervisor(tmp_path, lambda _name, event: events.append(event))
    try:
        supervisor.start(Service("sleeper", WAITS, ready=ready.exists, ready_seconds=0.5))
        ready.unlink()
        os.kill(supervisor.processes["sleeper"].pid, signal.SIGKILL)

        def hung_twice() -> bool:
            supervisor.tend()
            return events.count("is not ready after 0.5 s, starts again") == 2

        wait_for(hung_twice, 60, "two restarts of what hangs")
        ready.touch()
        hung = supervisor.processes["sleeper"].pid
        supervisor.tend()

        assert events[-1] == "ready again"
        assert supervisor.processes["sleeper"].pid == hung
        assert supervisor.restarts == {"sleeper": 3}
    finally:
        supervisor.stop()


def test_stopping_leaves_nothing_behind(tmp_path: Path) -> None:
    """A service that ignores SIGTERM is killed after its time, and so is the child it started."""
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


def test_a_start_that_fails_tells_the_end_of_the_log(tmp_path: Path) -> None:
    """A service that ends before it is ready is one failure with what it said."""
    command = [sys.executable, "-c", "import sys; sys.exit('the disk is full')"]
    supervisor = Supervisor(tmp_path)

    with pytest.raises(StartError, match=r"(?s)broken ended with 1:.*the disk is full"):
        supervisor.start(Service("broken", command, ready=lambda: False))
    supervisor.stop()
