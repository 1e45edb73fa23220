"""One process of the stack: started in its own session, watched, and ended with all it started."""

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
"""From util-linux: the kernel ends the process when the supervisor is killed and can't do it itself."""

START_SECONDS = 300.0
"""A Flink job starts in ten seconds on a quiet machine; a busy one may take twenty times as long.

One that ends meanwhile is seen at once, so nobody waits this long for what fails.
"""
KILLED_SECONDS = 10.0
"""What is killed and still there by then hangs in the kernel, and nothing that we do would end it."""


def always_ready() -> bool:
    """The condition of a process that is ready once it runs."""
    return True


@dataclasses.dataclass(frozen=True)
class Service:
    """What to run and how to know that it works.

    Attributes:
        name: short name, also of its log file.
        command: argument vector.
        environment: variables on top of ours.
        ready: answers without blocking for long whether it does its work.
        ready_seconds: how long the start may take.
        restart: whether it is started again when it ends by itself.
        stop_seconds: how long it may take to end after SIGTERM.
        whole_session: whether what it started may go on for that long too, when it has ended itself: Spark's JVM says
            its last words after the Python that started it.
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
        """How it ended, or None while it runs."""
        return self._popen.poll()

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the process itself, so that it can end its own children in order."""
        if self.exit_code() is None:
            self._popen.terminate()

    def stop(self) -> None:
        """End it and every process of its session; returns when it is gone."""
        self.ask_to_stop()
        until = time.monotonic() + self.service.stop_seconds
        with contextlib.suppress(subprocess.TimeoutExpired):  # the whole session is killed below
            self._popen.wait(self.service.stop_seconds)
        while self.service.whole_session and _session(self.pid) and time.monotonic() < until:
            time.sleep(0.05)
        self._kill_session()
        self._popen.wait()

    def _kill_session(self) -> None:
        """A group is not enough: Python workers of Spark make groups of their own, but stay in the session.

        Once is not enough either: one that starts another may do so between our look and its end. Returns when none
        is left, because a JVM takes a moment to die and nobody may find it running then.
        """
        until = time.monotonic() + KILLED_SECONDS
        while (left := _session(self.pid)) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def last_lines(self, count: int = 12) -> str:
        """The end of its log, for a message."""
        if not self.log_file.exists():
            return ""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-count:])


def _session(leader: int) -> list[int]:
    """Ids of the processes in a session that have not ended, as /proc/PID/stat tells them (proc(5), fields 3 and 6)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            after_name = stat.read_text(errors="replace").rsplit(")", 1)[1].split()
            if int(after_name[3]) == leader and after_name[0] != "Z":
                found.append(int(stat.parent.name))
    return found
