"""Returns the history of a log only after its training samples are in the baselines.

If the process is killed before the result is returned, the log is read again. Samples that are added a second time have
no effect.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from confluent_kafka import KafkaException

from sparkfuse_native_analytics.history.workers import HistoryResult, HistoryWorkers

RETRY_SECONDS = 5.0
# Maximum number of logs whose samples are added together; the topic ``baselines`` is read once for each such group.
MAX_GROUP = 500
_log = logging.getLogger("sparkfuse.ship")
# A function that adds serialized Baseline messages with one sample each, and returns the number of baselines that
# changed. Raises KafkaException.
UpdateBaselines = Callable[[Sequence[bytes]], int]


class HistoryReader:
    """Reads logs and updates baselines in the background. ``updated_stages`` counts the baselines that changed."""

    def __init__(self, workers: HistoryWorkers, update_baselines: UpdateBaselines, stop: threading.Event) -> None:
        self._workers, self._update_baselines, self._stop = workers, update_baselines, stop
        self._to_update: queue.SimpleQueue[HistoryResult | None] = queue.SimpleQueue()
        self._ready: queue.SimpleQueue[HistoryResult] = queue.SimpleQueue()
        self._updating = 0
        self.updated_stages = 0
        self._thread = threading.Thread(target=self._update_all, name="sparkfuse-baselines", daemon=True)
        self._thread.start()

    def request(self, name: str, path: str) -> None:
        """Start reading the log at ``path``, a path or URL."""
        self._workers.request(name, path)

    @property
    def pending(self) -> int:
        """The number of requested logs whose results have not been returned yet."""
        return self._workers.pending + self._updating

    def results(self) -> Iterator[HistoryResult]:
        """Yield each result once, as soon as it is ready and its samples are in the baselines."""
        for result in self._workers.results():
            self._updating += 1
            (self._to_update if result.samples else self._ready).put(result)
        while True:
            try:
                result = self._ready.get_nowait()
            except queue.Empty:
                return
            self._updating -= 1
            yield result

    def close(self) -> None:
        """Stop the threads and workers; results that were not returned are read again after the next start."""
        self._stop.set()
        self._to_update.put(None)
        self._thread.join()
        self._workers.close()

    def _update_all(self) -> None:
        while (first := self._to_update.get()) is not None and not self._stop.is_set():
            group = [first, *self._next_group()]
            updated = self._update(group)
            if updated is None:
                return
            for result in group:
                self._ready.put(replace(result, baselines_updated=updated))

    def _next_group(self) -> Iterator[HistoryResult]:
        for _ in range(MAX_GROUP - 1):
            try:
                result = self._to_update.get_nowait()
            except queue.Empty:
                return
            if result is None:
                self._to_update.put(None)
                return
            yield result

    def _update(self, group: Sequence[HistoryResult]) -> bool | None:
        """Update the baselines; retry until the broker answers.

        Return False if the update is impossible, and None if the reader was stopped first.
        """
        samples = [sample for result in group for sample in result.samples]
        while not self._stop.is_set():
            try:
                self.updated_stages += self._update_baselines(samples)
            except KafkaException as error:
                _log.warning("baselines cannot be updated now, retrying in %.0f s: %s", RETRY_SECONDS, error)
                self._stop.wait(RETRY_SECONDS)
            except Exception:
                # An unexpected error, such as a full disk, must not end this thread, because then no history would be
                # sent. The rows are sent without updating baselines; the log message contains the reason, and the
                # caller counts such logs.
                _log.exception(
                    "the baselines were not updated from %d logs; the rows of these logs are sent anyway", len(group)
                )
                return False
            else:
                return True
        return None
