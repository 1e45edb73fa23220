"""One process of the stack: started in its own session, and stopped with everything that it started."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM")
"""From util-linux: the kernel stops the process if the supervisor is killed."""

START_SECONDS = 300.0
"""A Flink job starts in ten seconds on an idle machine; on a busy one it may take twenty times as long.

A process that exits during its start is noticed at once, without this wait.
"""
KILLED_SECONDS = 10.0
"""A killed process that still exists after this time hangs in the kernel."""


def always_ready() -> bool:
    """Return True: the process is ready as soon as it runs."""
    return True


@dataclasses.dataclass(frozen=True)
class Service:
    """A program to run, and how to check that it works.

    Attributes:
        name: short name, also of its log file.
        command: argument vector.
        environment: variables in addition to ours.
        ready: returns within about a second whether the service works.
        ready_seconds: how long the start may take.
        restart: whether to restart it when it exits.
        stop_seconds: how long it may take to exit after SIGTERM.
        whole_session: whether its child processes may also run for `stop_seconds` after it exited; Spark's JVM sends
            its last facts after its Python process exited.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ready: Callable[[], bool] = always_ready
    ready_seconds: float = START_SECONDS
    restart: bool = True
    stop_seconds: float = 10.0
    whole_session: bool = False


class Process:
    """A running service."""

    def __init__(self, service: Service, log_file: Path) -> None:
        self.service = service
        self.log_file = log_file
        self.started_at = time.monotonic()
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as log:
            self._popen = subprocess.Popen(
                [*DIES_WITH_PARENT, *service.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **service.environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id; also the id of its session and process group."""
        return self._popen.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._popen.poll()

    def terminate(self) -> None:
        """Send SIGTERM to the process itself, so that it can stop its own children in order."""
        if self.exit_code() is None:
            self._popen.terminate()

    def stop(self) -> None:
        """Stop the process and every process of its session; return when they are gone."""
        self.terminate()
        until = time.monotonic() + self.service.stop_seconds
        with contextlib.suppress(subprocess.TimeoutExpired):  # the whole session is killed below
            self._popen.wait(self.service.stop_seconds)
        while self.service.whole_session and _session(self.pid) and time.monotonic() < until:
            time.sleep(0.05)
        self._kill_session()
        self._popen.wait()

    def _kill_session(self) -> None:
        """Kill all processes of the session and return when none is left.

        Killing the process group is not enough, because Python workers of Spark have groups of their own. One pass is
        not enough either, because a process may start another one between our listing and its end.
        """
        until = time.monotonic() + KILLED_SECONDS
        while (left := _session(self.pid)) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def last_lines(self, count: int = 12) -> str:
        """Return the last lines of its log, for a message."""
        if not self.log_file.exists():
            return ""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-count:])


def _session(leader: int) -> list[int]:
    """Return the ids of the running processes of a session, from /proc/PID/stat (proc(5), fields 3 and 6)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            after_name = stat.read_text(errors="replace").rsplit(")", 1)[1].split()
            if int(after_name[3]) == leader and after_name[0] != "Z":
                found.append(int(stat.parent.name))
    return found
