"""Reads the logs of ended applications in worker processes, so that a huge log does not block the caller."""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

# A worker process is replaced after this many logs.
LOGS_PER_WORKER = 200
# Maximum number of attempts for one log. If a worker dies, all logs in progress are read again; without a maximum, a
# log that kills its worker would be read forever.
MAX_ATTEMPTS = 3
# Number of logs submitted to the pool per worker; the other logs wait in a queue.
SUBMITTED_PER_WORKER = 2


@dataclass(frozen=True)
class HistoryResult:
    """The result of reading one log.

    ``rows`` are serialized HistoryRow messages, ``names`` serialized DisplayName messages, and ``samples`` serialized
    Baseline messages with one sample each. If the log could not be read, ``failure`` is the reason in one sentence.
    ``ended`` is false if the log does not contain the end of the application. ``baselines_updated`` is false if the
    samples could not be added to the baselines.
    """

    name: str
    app_id: str = ""
    rows: tuple[bytes, ...] = ()
    samples: tuple[bytes, ...] = ()
    names: tuple[bytes, ...] = ()
    failure: str = ""
    ended: bool = True
    baselines_updated: bool = True


def read_history(name: str, path: str, cluster: str, tenant: str) -> HistoryResult:
    """Read the log at ``path``, a path or URL; if an error occurs, return it in ``failure`` instead of raising it."""
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_kernel.event_logs.log import UnreadableLogError
    from sparkfuse_native_analytics.offline.application import read_application
    from sparkfuse_native_analytics.offline.history_rows import baseline_messages, display_name_messages, history_rows

    try:
        logs = find_logs(path).logs
        if len(logs) != 1:
            return HistoryResult(name, failure=f"{path}: contains {len(logs)} logs instead of one")
        application = read_application(logs[0], threads=1)
    except UnreadableLogError as error:
        return HistoryResult(name, failure=str(error))
    rows = tuple(row.SerializeToString() for row in history_rows(application, cluster, tenant))
    if not rows:
        return HistoryResult(name, failure=f"{path}: has no application id or no start time")
    samples = tuple(sample.SerializeToString() for sample in baseline_messages(application, cluster, tenant))
    now_ms = time.time_ns() // 1_000_000
    names = tuple(each.SerializeToString() for each in display_name_messages(application, cluster, tenant, now_ms))
    return HistoryResult(name, application.app_id or "", rows, samples, names, ended=application.ended_ms is not None)


class HistoryWorkers:
    """A pool of processes that read logs; the pool starts at the first request."""

    def __init__(self, cluster: str, tenant: str, workers: int = 1) -> None:
        self._cluster, self._tenant, self._workers = cluster, tenant, workers
        self._executor: ProcessPoolExecutor | None = None
        self._waiting: deque[tuple[str, str]] = deque()
        self._running: dict[str, tuple[str, Future[HistoryResult]]] = {}
        self._crashes: dict[str, int] = {}

    def request(self, name: str, path: str) -> None:
        """Queue the log at ``path``."""
        self._waiting.append((name, path))
        self._submit_waiting()

    @property
    def pending(self) -> int:
        """The number of requested logs whose results have not been returned yet."""
        return len(self._waiting) + len(self._running)

    def results(self) -> Iterator[HistoryResult]:
        """Yield each result once, as soon as it is ready."""
        for name in [name for name, (_, future) in self._running.items() if future.done()]:
            path, future = self._running.pop(name)
            result = self._result(name, path, future)
            if result is not None:
                self._crashes.pop(name, None)
                yield result
        self._submit_waiting()

    def close(self) -> None:
        """Stop the workers. Results that were not returned are lost; the caller must request their logs again later."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _submit_waiting(self) -> None:
        while self._waiting and len(self._running) < SUBMITTED_PER_WORKER * self._workers:
            name, path = self._waiting.popleft()
            self._running[name] = (path, self._submit(name, path))

    def _submit(self, name: str, path: str) -> Future[HistoryResult]:
        try:
            return self._pool().submit(read_history, name, path, self._cluster, self._tenant)
        except BrokenProcessPool:
            self._executor = None
            return self._pool().submit(read_history, name, path, self._cluster, self._tenant)

    def _pool(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Workers are spawned, because a fork would copy the threads and connections of the Kafka client.
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._workers, context, max_tasks_per_child=LOGS_PER_WORKER)
        return self._executor

    def _result(self, name: str, path: str, future: Future[HistoryResult]) -> HistoryResult | None:
        """Return the result of a finished future; None if the log was queued again."""
        try:
            return future.result()
        except BrokenProcessPool:
            self._executor = None
            self._crashes[name] = self._crashes.get(name, 0) + 1
            if self._crashes[name] < MAX_ATTEMPTS:
                self._waiting.append((name, path))
                return None
            return HistoryResult(name, failure=f"{path}: the process that read it was killed {MAX_ATTEMPTS} times")
        except Exception as error:
            # After an unexpected error in a worker, the caller reports this log as unreadable, and the other logs
            # continue.
            return HistoryResult(name, failure=f"{path}: {type(error).__name__}: {error}")
