"""Reads the state of processes from /proc, and ends the processes of a session."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import psutil

from tests.waiting import wait_for

END_SECONDS = 30
"""Time in which the processes of a session should end by themselves, and in which killed ones must end."""


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not count as running."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):  # it exited before or while its file was read
        return False


def end_session(leader: int) -> None:
    """Wait until no process of a session runs; kill those that do not end by themselves.

    A process that was stopped with SIGSTOP continues first, so that it can end.
    """
    for pid in _session(leader):
        _send(pid, signal.SIGCONT)
    try:
        wait_for(lambda: not _session(leader), END_SECONDS, "the end of the session")
    except TimeoutError:
        for pid in _session(leader):
            _send(pid, signal.SIGKILL)
        wait_for(lambda: not _session(leader), END_SECONDS, "the end of the killed processes")


def _session(leader: int) -> list[int]:
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == leader and alive(pid):
                found.append(pid)
    return found


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
