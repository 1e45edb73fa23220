"""The history of ended logs, made in processes of their own: a huge log costs whoever asked neither time nor memory."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

TASKS_OF_A_WORKER = 200
# A worker that dies takes what the others were about with it: those are tried again, the culprit not for ever.
TRIES = 3
# Asked of the workers at once for each of them; the rest waits as names.
AHEAD = 2


@dataclass(frozen=True)
class Made:
    """What became of one log.

    ``rows`` are HistoryRow and ``lessons`` Baseline messages of one sample, both as bytes; ``failure`` says in one
    sentence why there are none; ``ended`` whether the log tells the end of the application; ``taught`` is false when
    baselines could not be taught its lessons.
    """

    name: str
    app_id: str = ""
    rows: tuple[bytes, ...] = ()
    lessons: tuple[bytes, ...] = ()
    failure: str = ""
    ended: bool = True
    taught: bool = True


def make(name: str, place: str, cluster: str, tenant: str) -> Made:
    """Read the log at ``place``; whatever is wrong with it is in the answer."""
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_kernel.event_logs.log import UnreadableLogError
    from sparkfuse_native_analytics.offline.application import read_application
    from sparkfuse_native_analytics.offline.history_rows import history_rows

    try:
        logs = find_logs(place).logs
        if len(logs) != 1:
            return Made(name, failure=f"{place}: it is {len(logs)} logs, not one")
        application = read_application(logs[0], threads=1)
    except UnreadableLogError as unreadable:
        return Made(name, failure=str(unreadable))
    rows = tuple(row.SerializeToString() for row in history_rows(application, cluster, tenant))
    if not rows:
        return Made(name, failure=f"{place}: it does not say which application it is of, or when that began")
    lessons = tuple(lesson.SerializeToString() for lesson in baseline_messages(application, cluster, tenant))
    return Made(name, application.app_id or "", rows, lessons, ended=application.ended_ms is not None)


class Makers:
    """Worker processes that make histories, started when the first is asked for."""

    def __init__(self, cluster: str, tenant: str, workers: int = 1) -> None:
        self._cluster, self._tenant, self._workers = cluster, tenant, workers
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: deque[tuple[str, str]] = deque()
        self._running: dict[str, tuple[str, Future[Made]]] = {}
        self._deaths: dict[str, int] = {}

    def ask(self, name: str, place: str) -> None:
        """Make the history of the log at ``place``, some time."""
        self._waiting.append((name, place))
        self._feed()

    @property
    def open(self) -> int:
        """How many were asked for and not taken yet."""
        return len(self._waiting) + len(self._running)

    def ready(self) -> Iterator[Made]:
        """Those that are ready, each once."""
        for name in [name for name, (_, future) in self._running.items() if future.done()]:
            place, future = self._running.pop(name)
            made = self._result(name, place, future)
            if made is not None:
                self._deaths.pop(name, None)
                yield made
        self._feed()

    def close(self) -> None:
        """End the workers; what they were about is asked for again the next time."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _feed(self) -> None:
        while self._waiting and len(self._running) < AHEAD * self._workers:
            name, place = self._waiting.popleft()
            self._running[name] = (place, self._submit(name, place))

    def _submit(self, name: str, place: str) -> Future[Made]:
        try:
            return self._workers_of().submit(make, name, place, self._cluster, self._tenant)
        except BrokenProcessPool:
            self._pool = None
            return self._workers_of().submit(make, name, place, self._cluster, self._tenant)

    def _workers_of(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Spawned: a fork would carry the threads and connections of the Kafka client.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, max_tasks_per_child=TASKS_OF_A_WORKER)
        return self._pool

    def _result(self, name: str, place: str, future: Future[Made]) -> Made | None:
        try:
            return future.result()
        except BrokenProcessPool:
            self._pool = None
            self._deaths[name] = self._deaths.get(name, 0) + 1
            if self._deaths[name] < TRIES:
                self._waiting.append((name, place))
                return None
            return Made(name, failure=f"{place}: its reader was killed")
        except Exception as error:
            # A fault of ours in a worker: this log is set aside with the reason, and the others go on.
            return Made(name, failure=f"{place}: {type(error).__name__}: {error}")
