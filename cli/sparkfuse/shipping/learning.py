"""Histories whose lessons are in the topic of baselines before their rows are: a kill in between teaches them again."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from confluent_kafka import KafkaException

from sparkfuse.shipping.baselines import Lessons, seed
from sparkfuse.shipping.history import Made, Makers
from sparkfuse_contracts.settings import Settings

RETRY_SECONDS = 5.0
# One look at the topic of baselines serves this many logs.
MOST_AT_ONCE = 500
_log = logging.getLogger("sparkfuse.ship")
Seeding = Callable[[Settings, Sequence[Made]], int]


def seed_from(settings: Settings, group: Sequence[Made]) -> int:
    """Teach what these logs teach; how many stages learned something. Raises KafkaException."""
    lessons = Lessons()
    for made in group:
        lessons.add(made.lessons)
    return seed(settings, lessons.take())


class LearningHistories:
    """Makes histories and teaches what they teach, in the background; ``learned`` counts stages that learned."""

    def __init__(self, makers: Makers, settings: Settings, stop: threading.Event, seeding: Seeding = seed_from) -> None:
        self._makers, self._settings, self._stop, self._seeding = makers, settings, stop, seeding
        self._made: queue.SimpleQueue[Made | None] = queue.SimpleQueue()
        self._taught: queue.SimpleQueue[Made] = queue.SimpleQueue()
        self._teaching = 0
        self.learned = 0
        self._thread = threading.Thread(target=self._teach, name="sparkfuse-seeds", daemon=True)
        self._thread.start()

    def ask(self, name: str, place: str) -> None:
        """Begin to make the history of the log at ``place``."""
        self._makers.ask(name, place)

    @property
    def open(self) -> int:
        """How many were asked for and not taken yet."""
        return self._makers.open + self._teaching

    def ready(self) -> Iterator[Made]:
        """Those that are ready and taught, each once."""
        for made in self._makers.ready():
            self._teaching += 1
            (self._made if made.lessons else self._taught).put(made)
        while True:
            try:
                made = self._taught.get_nowait()
            except queue.Empty:
                return
            self._teaching -= 1
            yield made

    def close(self) -> None:
        """End the workers and the teaching; what was not taken is asked for again at the next start."""
        self._stop.set()
        self._made.put(None)
        self._thread.join()
        self._makers.close()

    def _teach(self) -> None:
        while (first := self._made.get()) is not None and not self._stop.is_set():
            group = [first, *self._more()]
            taught = self._seed(group)
            if taught is None:
                return
            for made in group:
                self._taught.put(replace(made, taught=taught))

    def _more(self) -> Iterator[Made]:
        for _ in range(MOST_AT_ONCE - 1):
            try:
                made = self._made.get_nowait()
            except queue.Empty:
                return
            if made is None:
                self._made.put(None)
                return
            yield made

    def _seed(self, group: Sequence[Made]) -> bool | None:
        """Try until the broker takes it; false when it cannot be taught at all, None when told to stop before."""
        while not self._stop.is_set():
            try:
                self.learned += self._seeding(self._settings, group)
            except KafkaException as error:
                _log.warning("baselines cannot be taught now, trying on: %s", error)
                self._stop.wait(RETRY_SECONDS)
            except Exception:
                # A fault of ours, or no room for the seeds: without this thread no history would ever be sent. The log
                # tells why, and whoever takes them counts those that taught nothing.
                _log.exception("baselines learn nothing of %d logs, whose rows are sent", len(group))
                return False
            else:
                return True
        return None
