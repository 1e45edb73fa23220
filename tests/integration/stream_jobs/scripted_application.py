"""Sends the facts of a scripted application, whose expected rows can be computed by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import Producer

from sparkfuse_contracts.generated import fact_pb2

DRIVER = "driver-0a0a0a0a"
EXECUTOR = "executor-1-0b0b0b0b"


class ScriptedApplication:
    """Numbers facts as a collector does, and sends them to one topic in order.

    ``start_ms`` is the start by the application's clock, which can differ from the broker's clock.
    ``login`` contains the client properties of a broker that requires a login.
    """

    def __init__(
        self, bootstrap: str, topic: str, app_id: str, start_ms: int, cluster: str = "test",
        login: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.app_id, self.start_ms, self._topic, self._cluster = app_id, start_ms, topic, cluster
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                # All facts until `flush` are one batch, so they have one arrival time and belong to one window.
                "linger.ms": 60_000,
                **login,
            }
        )
        self._next: dict[tuple[str, str], int] = defaultdict(int)

    def send_fact(
        self, kind: str, /, *, collector: str = DRIVER, lane: str = "bulk", at_ms: int = 0, **values: Any
    ) -> None:
        """Send one fact of ``kind`` with ``values`` as its fields.

        ``at_ms`` is the time of the record, if the broker does not set it.
        """
        fact = fact_pb2.Fact(
            event_time_ms=self.start_ms,
            cluster=self._cluster,
            app_id=self.app_id,
            app_attempt=1,
            app_start_ms=self.start_ms,
            collector=collector,
            lane=lane,
            seq=self.drop(collector, lane),
        )
        getattr(fact, kind).SetInParent()
        for name, value in values.items():
            self._set(getattr(fact, kind), name, value)
        self.send(fact.SerializeToString(), at_ms)

    def send_pod(self, executor_id: str, **values: Any) -> None:
        """Send a change of a pod as the pod watcher does, which knows neither attempt nor start."""
        pod = fact_pb2.PodChanged(executor_id=executor_id, **values)
        fact = fact_pb2.Fact(
            event_time_ms=self.start_ms, cluster="test", tenant="pods", app_id=self.app_id, app_attempt=0,
            app_start_ms=0, collector="pods-0c0c0c0c", lane="reserved", seq=self.drop("pods-0c0c0c0c", "reserved"),
            pod_changed=pod,
        )  # fmt: skip
        self.send(fact.SerializeToString())

    def drop(self, collector: str = DRIVER, lane: str = "bulk") -> int:
        """Use up the next sequence number of the lane, as for a dropped fact, and return the number."""
        number = self._next[collector, lane]
        self._next[collector, lane] += 1
        return number

    def send(self, value: bytes | None, at_ms: int = 0) -> None:
        """Send any bytes with the application's key."""
        self._producer.produce(self._topic, value, self.app_id, timestamp=at_ms)

    def flush(self) -> None:
        """Send all queued facts and wait until the broker has them."""
        assert self._producer.flush(30) == 0

    @staticmethod
    def _set(message: Any, name: str, value: Any) -> None:
        if isinstance(value, (list, dict)):
            field = getattr(message, name)
            field.extend(value) if isinstance(value, list) else field.update(value)
        else:
            setattr(message, name, value)
