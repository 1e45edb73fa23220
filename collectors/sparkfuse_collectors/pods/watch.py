"""Keeps watching one kind of objects: lists once, then follows the changes, with bounded load on the API server."""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sparkfuse_collectors.pods.api import ApiError, ApiServer, ExpiredError, Found

NODES: Final = "nodes"
LISTED: Final = "LISTED"
DELETED: Final = "DELETED"
# At least this long between two requests for one kind of objects, and at most this long after failures.
LEAST_SECONDS = 1.0
MOST_SECONDS = 60.0
_log = logging.getLogger("sparkfuse.pods")


@dataclass(frozen=True)
class Change:
    """A complete list (``kind`` LISTED, ``objects``), or one event with one object."""

    source: str
    kind: str
    objects: list[Found]


class Watch:
    """Watches objects on a thread of its own, and puts the changes into a queue in their order."""

    def __init__(
        self,
        source: str,
        server: ApiServer,
        changes: queue.Queue[Change],
        stop: threading.Event,
        count: Callable[[str, str], None],
    ) -> None:
        """``source`` names the objects; ``count`` is called with it and the outcome of each request."""
        self._source, self._server, self._changes, self._stop, self._count = source, server, changes, stop, count
        self._version = ""
        self.answered_at = time.monotonic()
        """When the server last answered, on the monotonic clock."""
        self.problem = ""
        """Why the last request failed; empty if it succeeded."""

    def start(self) -> None:
        """Start the thread; it ends with the process, because a watch can wait for minutes for its next event."""
        threading.Thread(target=self._run, name=f"watch-{self._source}", daemon=True).start()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            failures = 0 if self._once() else failures + 1
            wait = min(MOST_SECONDS, LEAST_SECONDS * 2 ** min(failures, 10))
            self._stop.wait(wait * random.uniform(0.75, 1.25))  # noqa: S311 - spreads requests, protects nothing

    def _once(self) -> bool:
        """List if necessary, and watch once; return whether the server sent events or ended the watch as it should."""
        events = 0
        try:
            if not self._version:
                objects, self._version = self._server.list()
                self._put(LISTED, objects)
            for event in self._server.watch(self._version):
                self.answered_at, events = time.monotonic(), events + 1
                if event.found is not None:
                    self._put(event.kind, [event.found])
                self._version = event.version or self._version
        except ExpiredError:
            self._version = ""
            self._count(self._source, "expired")
            return events > 0
        except Exception as error:  # the thread must not end, whatever the server sends
            if self._stop.is_set():  # nobody waits for the answer any more
                return True
            _log.warning("cannot watch %s: %s", self._source, error, exc_info=not isinstance(error, ApiError))
            self.problem = str(error)
            self._count(self._source, "failed")
            return events > 0
        self.answered_at, self.problem = time.monotonic(), ""
        self._count(self._source, "answered")
        return True

    def _put(self, kind: str, objects: list[Found]) -> None:
        while not self._stop.is_set():
            self.answered_at = time.monotonic()
            try:
                self._changes.put(Change(self._source, kind, objects), timeout=1.0)
            except queue.Full:
                continue  # Kafka is behind; the server keeps the changes
            return
