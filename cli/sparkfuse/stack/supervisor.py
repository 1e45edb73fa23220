"""Starts services in order, restarts services that exit, and stops all services in reverse order."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.process import Process, Service

POLL_SECONDS = 0.1
RESTART_WAIT_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses before the first, second and further restarts of one service; all later restarts use the last pause."""
STEADY_SECONDS = 60.0
"""A service that has run for this time counts as recovered, and its next restart uses the first pause again."""

Report = Callable[[str, str], None]
"""A function that is called with the name of a service and an event."""


def _silent(_name: str, _event: str) -> None:
    """Ignore the event."""


class Supervisor:
    """Starts, restarts and stops the processes of the services.

    Args:
        logs: folder of the log files.
        report: called for every start, restart and exit.
        requests: folder of requests. A file named after a service requests its restart; when the service is ready, the
            file is deleted.
    """

    def __init__(self, logs: Path, report: Report = _silent, requests: Path | None = None) -> None:
        self._logs = logs
        self._report = report
        self._requests = requests
        self._restarted: set[str] = set()
        self._pending_requests: dict[str, Path] = {}
        self._processes: dict[str, Process] = {}
        self._restarts: dict[str, int] = {}
        self._restart_at: dict[str, float] = {}

    @property
    def processes(self) -> dict[str, Process]:
        """The running processes by service name, in the order of their start."""
        return dict(self._processes)

    @property
    def restarts(self) -> dict[str, int]:
        """The number of restarts by service name."""
        return dict(self._restarts)

    def start(self, *services: Service) -> None:
        """Start the services together, and wait until each of them is ready.

        Raises:
            StartError: a service exited or was not ready in time; the message contains the end of the service's log.
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
            raise StartError(f"{service.name} exited with {process.exit_code()}:\n{process.last_lines()}")
        if waited > service.ready_seconds:
            raise StartError(
                f"{service.name} is not ready after {service.ready_seconds:.0f} s; see {process.log_file}:\n"
                f"{process.last_lines()}"
            )
        return False

    def poll(self) -> None:
        """Check every process once; restart those that exited or whose restart was requested. Call it often."""
        self._check_restarted()
        self._restart_requested()
        now = time.monotonic()
        for name, process in list(self._processes.items()):
            code = process.exit_code()
            if code is None or not process.service.restart:
                continue
            if name not in self._restart_at:
                self._plan_restart(name, process, code, now)
            elif now >= self._restart_at[name]:
                self._restart(name)

    def _restart(self, name: str) -> None:
        process = self._processes[name]
        self._restart_at.pop(name, None)
        process.stop()  # also stops the children of a process that exited
        self._spawn(process.service)
        self._restarted.add(name)

    def _check_restarted(self) -> None:
        """Restart a service that hangs while it is restarting, for example because the disk is full."""
        for name in sorted(self._restarted):
            process = self._processes[name]
            if process.service.ready():
                self._report(name, "ready after restart")
                self._restarted.discard(name)
                if name in self._pending_requests:
                    self._pending_requests.pop(name).unlink(missing_ok=True)
            elif time.monotonic() - process.started_at > process.service.ready_seconds:
                self._report(name, f"not ready after {process.service.ready_seconds:g} s, restarting")
                self._restarts[name] = self._restarts.get(name, 0) + 1
                self._restart(name)

    def _restart_requested(self) -> None:
        for request in sorted(self._requests.iterdir()) if self._requests and self._requests.is_dir() else ():
            name = request.name
            if name not in self._processes:
                request.unlink(missing_ok=True)
            elif name not in self._pending_requests:
                self._report(name, "restarting on request")
                self._pending_requests[name] = request
                self._restart(name)

    def _plan_restart(self, name: str, process: Process, code: int, now: float) -> None:
        if now - process.started_at > STEADY_SECONDS:
            self._restarts[name] = 0
        count = self._restarts.get(name, 0)
        self._restarts[name] = count + 1
        wait = RESTART_WAIT_SECONDS[min(count, len(RESTART_WAIT_SECONDS) - 1)]
        self._restart_at[name] = now + wait
        self._report(name, f"exited with {code}, restart in {wait:.1f} s")

    def stop(self) -> None:
        """Stop all processes in reverse order of their start; all except the broker get SIGTERM at the same time."""
        for process in self._processes.values():
            if process.service.name != "kafka":  # the broker stops last, so that the others can send their records
                process.terminate()
        for name in reversed(list(self._processes)):
            self._processes.pop(name).stop()
            self._report(name, "stopped")
