"""Starts the services in order, starts again what ends by itself, and stops all in reverse."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.process import Process, Service

POLL_SECONDS = 0.1
RESTART_WAIT_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Back-off between restarts of one service; the last one repeats."""
STEADY_SECONDS = 60.0
"""A service that ran this long has recovered: its back-off begins anew."""

Report = Callable[[str, str], None]
"""Called with a service's name and what happened to it."""


def _silent(_name: str, _event: str) -> None:
    """Report to nobody."""


class Supervisor:
    """Owner of the running processes.

    Args:
        logs: folder of the log files.
        report: told of starts, restarts and ends.
        asked: folder in which a file with a service's name asks for its restart; it is gone when that is ready.
    """

    def __init__(self, logs: Path, report: Report = _silent, asked: Path | None = None) -> None:
        self._logs = logs
        self._report = report
        self._asked = asked
        self._again: set[str] = set()
        self._answering: dict[str, Path] = {}
        self._processes: dict[str, Process] = {}
        self._restarts: dict[str, int] = {}
        self._due: dict[str, float] = {}

    @property
    def processes(self) -> dict[str, Process]:
        """Running processes by service name, in order of their start."""
        return dict(self._processes)

    @property
    def restarts(self) -> dict[str, int]:
        """How often each service was started again."""
        return dict(self._restarts)

    def start(self, *services: Service) -> None:
        """Start the services together and wait until each is ready.

        Raises:
            StartError: one ended or did not become ready in its time; the end of its log is in the message.
        """
        for service in services:
            self._spawn(service)
        waiting = list(services)
        while waiting:
            waiting = [service for service in waiting if not self._is_ready(service)]
            time.sleep(POLL_SECONDS)

    def _spawn(self, service: Service) -> None:
        self._processes[service.name] = Process(service, self._logs / f"{service.name}.log")
        self._report(service.name, "starting")

    def _is_ready(self, service: Service) -> bool:
        process = self._processes[service.name]
        waited = time.monotonic() - process.started_at
        if service.ready():
            self._report(service.name, f"ready after {waited:.1f} s")
            return True
        if process.exit_code() is not None:
            raise StartError(f"{service.name} ended with {process.exit_code()}:\n{process.last_lines()}")
        if waited > service.ready_seconds:
            raise StartError(
                f"{service.name} is not ready after {service.ready_seconds:.0f} s; see {process.log_file}:\n"
                f"{process.last_lines()}"
            )
        return False

    def tend(self) -> None:
        """Look at every process once, start again what ended and what somebody asks for; call it often."""
        self._check_restarted()
        self._answer()
        now = time.monotonic()
        for name, process in list(self._processes.items()):
            code = process.exit_code()
            if code is None or not process.service.restart:
                continue
            if name not in self._due:
                self._plan_restart(name, process, code, now)
            elif now >= self._due[name]:
                self._start_again(name)

    def _start_again(self, name: str) -> None:
        process = self._processes[name]
        self._due.pop(name, None)
        process.stop()  # leaves no child of a dead one behind
        self._spawn(process.service)
        self._again.add(name)

    def _check_restarted(self) -> None:
        """One that hangs while it starts has not ended: a full disk or a broker that is away may do that to it."""
        for name in sorted(self._again):
            process = self._processes[name]
            if process.service.ready():
                self._report(name, "ready again")
                self._again.discard(name)
                if name in self._answering:
                    self._answering.pop(name).unlink(missing_ok=True)
            elif time.monotonic() - process.started_at > process.service.ready_seconds:
                self._report(name, f"is not ready after {process.service.ready_seconds:g} s, starts again")
                self._restarts[name] = self._restarts.get(name, 0) + 1
                self._start_again(name)

    def _answer(self) -> None:
        for request in sorted(self._asked.iterdir()) if self._asked and self._asked.is_dir() else ():
            name = request.name
            if name not in self._processes:
                request.unlink(missing_ok=True)
            elif name not in self._answering:
                self._report(name, "starts again, as asked")
                self._answering[name] = request
                self._start_again(name)

    def _plan_restart(self, name: str, process: Process, code: int, now: float) -> None:
        if now - process.started_at > STEADY_SECONDS:
            self._restarts[name] = 0
        count = self._restarts.get(name, 0)
        self._restarts[name] = count + 1
        wait = RESTART_WAIT_SECONDS[min(count, len(RESTART_WAIT_SECONDS) - 1)]
        self._due[name] = now + wait
        self._report(name, f"ended with {code}, starts again in {wait:.1f} s")

    def stop(self) -> None:
        """End everything, last started first; the Flink jobs and the rest get their signal at once."""
        for process in self._processes.values():
            if process.service.name != "kafka":  # the broker goes last, so that the others can say good-bye
                process.ask_to_stop()
        for name in reversed(list(self._processes)):
            self._processes.pop(name).stop()
            self._report(name, "stopped")
