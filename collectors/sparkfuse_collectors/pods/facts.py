"""Sends reports about pods to the topic `facts`."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from confluent_kafka import Producer

from sparkfuse_collectors.pods.tracker import PodReport
from sparkfuse_contracts.generated.event_ids import ID_BYTES
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name

STOP_SECONDS = 10.0


class PodFacts:
    """Numbers facts as a collector does. A fact is retried until Kafka takes it or the process stops."""

    def __init__(self, settings: Settings, cluster: str, tenant: str, count: Callable[[str], None]) -> None:
        """``count`` is called with ``sent`` or ``lost`` for each fact."""
        self._topic, self._count = topic_name("facts", settings.topic_prefix), count
        self._cluster, self._tenant = cluster, tenant
        self._collector = f"pods-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        own = {
            "client.id": "sparkfuse-pods",
            "enable.idempotence": True,
            "linger.ms": 100,
            "message.timeout.ms": 0,  # no limit: a fact waits until the broker is back
            "log.connection.close": False,
        }
        self._producer = Producer(producer_configuration(settings, own))

    def send(self, report: PodReport, stopped: Callable[[], bool]) -> None:
        """Queue the fact of a report; wait while the client's queue is full, until ``stopped`` returns True."""
        fact = self._fact(report, time.time_ns() // 1_000_000)
        while not stopped():
            try:
                self._producer.produce(
                    self._topic, fact.SerializeToString(), fact.app_id.encode(), on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(0.5)
                continue
            self._producer.poll(0)
            return
        self._count("lost")

    def poll(self) -> None:
        """Handle the answers of the broker that have arrived."""
        self._producer.poll(0)

    def close(self) -> int:
        """Wait briefly for the broker, and return how many facts it did not take."""
        left = self._producer.flush(STOP_SECONDS)
        for _ in range(left):
            self._count("lost")
        return int(left)

    def _fact(self, report: PodReport, now_ms: int) -> Fact:
        fact = Fact(
            event_time_ms=now_ms,
            cluster=self._cluster,
            tenant=self._tenant,
            app_id=report.pod.app_id,
            # Unknown, but the store needs them for its key.
            app_attempt=0,
            app_start_ms=0,
            collector=self._collector,
            lane="reserved",
            seq=next(self._numbers),
        )
        changed = fact.pod_changed
        changed.executor_id, changed.pod, changed.changed_ms = report.pod.executor_id, report.pod.name, now_ms
        if report.pod.node:
            changed.node = report.pod.node
        if report.zone:
            changed.zone = report.zone
        if report.cause:
            changed.cause = report.cause.cause
            if report.cause.message:
                changed.message = report.cause.message
            if report.cause.exit_code is not None:
                changed.exit_code = report.cause.exit_code
        fact.event_id = _event_id(fact)
        return fact

    def _delivered(self, error: Any, _message: Any) -> None:
        self._count("sent" if error is None else "lost")


def _event_id(fact: Fact) -> bytes:
    """Return the id of a fact about a pod (contracts/shared/event_ids.yaml)."""
    changed = fact.pod_changed
    key = f"{changed.executor_id}|{changed.pod}|{changed.cause}|{changed.changed_ms}"
    text = f"{fact.cluster}|{fact.app_id}|{fact.app_start_ms}|{fact.app_attempt}|pod_changed|{key}"
    return sha256(text.encode()).digest()[:ID_BYTES]
