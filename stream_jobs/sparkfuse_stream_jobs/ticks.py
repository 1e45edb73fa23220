"""Sends a Tick per second to each partition, so that windows close when no facts arrive."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from prometheus_client import CollectorRegistry, Counter

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated import fact_pb2
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name

LOG = logging.getLogger(__name__)
INTERVAL_MS = 1000
# Planned delay from the end of a window to the arrival of a tick; a tick must arrive shortly after the end.
PHASE_MS = 20
# At most this long after its creation, a new partition gets ticks and is read by Flink. Producers find a new partition
# later: their clients ask for partitions every five minutes.
DISCOVERY_MS = 2_000
# The watermark ignores a partition without records for this long. Each partition of facts gets a tick per second, and
# each partition of live a tick per window. So a partition without records has lost its leader, or contains the open
# transaction of a shipper that died. The broker aborts such a transaction after half a minute (TRANSACTION_SECONDS of
# the shipper). Until the broker aborts the transaction, the partition must not be ignored: its facts would be late
# afterwards, and findings about its applications would resolve.
IDLE_MS = 120_000
# A short limit, because a broker that does not answer must not delay ticks.
ANSWER_SECONDS = 0.5
_SEED = 0x9747B28C
_MIX = 0x5BD1E995
_WORD = 0xFFFFFFFF


def ticks_sent(registry: CollectorRegistry) -> Counter:
    """Return a new counter of the registry for the ticks that a process sends."""
    return Counter(metric_names.TICKS_SENT.name, metric_names.TICKS_SENT.help, registry=registry)


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key, as org.apache.kafka.common.utils.Utils.murmur2 without the sign bit."""
    value = (_SEED ^ len(data)) & _WORD
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MIX & _WORD
        word = (word ^ word >> 24) * _MIX & _WORD
        value = (value * _MIX & _WORD) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MIX & _WORD
    value = (value ^ value >> 13) * _MIX & _WORD
    return (value ^ value >> 15) & 0x7FFFFFFF


def clock_app_ids(*partitions: int) -> list[str]:
    """Return application ids that together reach each partition of topics with these numbers of ``partitions``."""
    wanted = {(topic, number) for topic, count in enumerate(partitions) for number in range(count)}
    names: list[str] = []
    candidate = 0
    while wanted:
        name = f"clock-{candidate}"
        reached = {(topic, murmur2(name.encode()) % count) for topic, count in enumerate(partitions)}
        if reached & wanted:
            names.append(name)
            wanted -= reached
        candidate += 1
    return names


class BrokerClock:
    """Estimates how far the broker's clock is ahead of the local clock, including the time to send a record."""

    def __init__(self) -> None:
        self._ahead_ms: deque[float] = deque(maxlen=30)

    def add_sample(self, sent_ms: float, arrived_ms: float) -> None:
        """Add a record that was sent at ``sent_ms`` (local clock) and stored at ``arrived_ms`` (broker clock)."""
        self._ahead_ms.append(arrived_ms - sent_ms)

    def next_tick_ms(self, now_ms: float, interval_ms: int) -> float:
        """Return the local time at which to send a tick that arrives PHASE_MS after a multiple of the interval.

        The shortest delay of the last records is used, so that one delayed record has no effect.
        """
        ahead = min(self._ahead_ms, default=0.0)
        multiple = (now_ms + ahead - PHASE_MS) // interval_ms + 1
        return multiple * interval_ms + PHASE_MS - ahead


class Ticks:
    """Sends ticks from a separate thread while the context is open.

    A tick that cannot be delivered is dropped after a few seconds, because the next tick replaces it. ``partitions``
    are the numbers of partitions of the topics ``facts`` and ``live`` at the start; new partitions are found. The topic
    ``facts`` is on the cluster of the source, and ``live`` on the home cluster. ``count`` is called for each delivered
    tick. ``up`` is called after each tick, with 1 if the last tick of each application id was delivered, else 0.
    """

    def __init__(
        self,
        settings: Settings,
        partitions: Sequence[int],
        count: Callable[[], None] = lambda: None,
        up: Callable[[float], None] | None = None,
    ) -> None:
        from confluent_kafka import Producer

        self._partitions = tuple(partitions)
        self._names = clock_app_ids(*partitions)
        self._count = count
        self._interval_ms = min(INTERVAL_MS, settings.window_ms)
        self._topic = topic_name("facts", settings.topic_prefix)
        self._up = up or (lambda _: None)
        self._dropped: set[str] = set()
        self._looked_at = time.monotonic()
        own = {
            "linger.ms": 0,
            "message.timeout.ms": 5000,
            # This class logs when ticks begin to fail. The client would log each of several connections a second.
            "log_level": 0,
        }
        self._producer = Producer(producer_configuration(settings.at_source(), own))
        home = Producer(producer_configuration(settings, own)) if settings.source else self._producer
        self._clusters = ((self._producer, self._topic), (home, topic_name("live", settings.topic_prefix)))
        self._clock = BrokerClock()
        self._stop = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="ticks", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while True:
            now_ms = time.time() * 1000
            wait_ms = self._clock.next_tick_ms(now_ms, self._interval_ms) - now_ms
            if self._stop.wait(wait_ms / 1000):
                self._producer.flush(1)
                return
            self._send(time.time() * 1000)
            self._producer.poll(0.05)
            if (time.monotonic() - self._looked_at) * 1_000 >= DISCOVERY_MS:
                self._find_new_partitions()
                self._looked_at = time.monotonic()

    def _find_new_partitions(self) -> None:
        from confluent_kafka import KafkaException

        try:
            found = [client.list_topics(name, timeout=ANSWER_SECONDS).topics[name] for client, name in self._clusters]
        except KafkaException as error:
            self._log_delivery(error.args[0])
            return
        counts = tuple(len(topic.partitions) for topic in found)
        # A topic that was deleted or has no leader yet is reported without partitions.
        if all(counts) and counts != self._partitions:
            LOG.info("the topics `facts` and `live` now have %d and %d partitions", *counts)
            self._partitions, self._names = counts, clock_app_ids(*counts)
            self._dropped &= set(self._names)

    def _send(self, now_ms: float) -> None:
        def delivered(error: Any, message: Any) -> None:
            self._log_delivery(error)
            self.note_delivery(message.key().decode(), delivered=error is None)
            if error is None:
                self._count()
                self._clock.add_sample(now_ms, message.timestamp()[1])

        for name in self._names:
            fact = fact_pb2.Fact(event_time_ms=int(now_ms), app_id=name, collector="clock")
            fact.tick.sent_ms = int(now_ms)
            try:
                self._producer.produce(self._topic, fact.SerializeToString(), name, on_delivery=delivered)
            except BufferError as error:
                self._log_delivery(error)

    def note_delivery(self, name: str, *, delivered: bool) -> None:
        """Note whether a tick of an application id was delivered, and report whether the cluster accepts all ticks."""
        if delivered:
            self._dropped.discard(name)
        elif name in self._names:
            self._dropped.add(name)
        self._up(not self._dropped)

    def _log_delivery(self, error: object) -> None:
        if error is not None and not self._failing:
            LOG.warning("cannot send ticks to %s: %s", self._topic, error)
        if error is None and self._failing:
            LOG.info("ticks are sent to %s again", self._topic)
        self._failing = error is not None
