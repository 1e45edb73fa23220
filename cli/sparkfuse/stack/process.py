"""One process of the stack: it starts in a session of its own, and stops with all processes of that session."""

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
"""The command prefix (from util-linux) with which the kernel stops a process if the supervisor is killed."""

START_SECONDS = 300.0
"""The time limit of a start: a Flink job takes ten seconds on an idle machine, and up to 20 times longer on a busy one.

If a process exits during its start, the exit is noticed at once, without waiting for this time.
"""
KILLED_SECONDS = 10.0
"""If a killed process still exists after this time, it hangs in the kernel."""


def always_ready() -> bool:
    """Return True: the process is regarded as ready as soon as it runs."""
    return True


@dataclasses.dataclass(frozen=True)
class Service:
    """A program to run, and the check that it works.

    Attributes:
        name: short name, used also for the log file.
        command: argument vector.
        environment: environment variables in addition to ours.
        ready: function that returns within about a second whether the service works.
        ready_seconds: time limit of the start.
        restart: whether to restart the service when it exits.
        stop_seconds: time limit of the exit after SIGTERM.
        whole_session: whether child processes may run for `stop_seconds` after the process exited. Spark's JVM needs
            this time to send its last facts after its Python process exited.
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
    """A running process of a service."""

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
        """The process id, which is also the id of the session and the process group."""
        return self._popen.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._popen.poll()

    def terminate(self) -> None:
        """Send SIGTERM to the process only, so that the process can stop its children in order."""
        if self.exit_code() is None:
            self._popen.terminate()

    def stop(self) -> None:
        """Stop the process and all other processes of its session; return when none of them is left."""
        self.terminate()
        until = time.monotonic() + self.service.stop_seconds
        with contextlib.suppress(subprocess.TimeoutExpired):  # the loop below kills the whole session
            self._popen.wait(self.service.stop_seconds)
        while self.service.whole_session and _session(self.pid) and time.monotonic() < until:
            time.sleep(0.05)
        self._kill_session()
        self._popen.wait()

    def _kill_session(self) -> None:
        """Kill all processes of the session, and return when no process is left.

        Killing the process group is not enough, because Python workers of Spark have process groups of their own.
        Listing the session once is not enough either, because a process may start another process after the listing.
        """
        until = time.monotonic() + KILLED_SECONDS
        while (left := _session(self.pid)) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def last_lines(self, count: int = 12) -> str:
        """Return the last lines of the process's log, for a message."""
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
