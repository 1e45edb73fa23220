"""Sends the facts of an artificial application, and measures the time until their finding arrives.

A probe is a stage in its second attempt, for which the rule ``stage_retried`` fires in any job. The delay is measured
by the broker's clock, from the last fact of the probe to the finding.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from sparkfuse_collectors.logs.lines import Chunk
from sparkfuse_collectors.ship.translation import Shipper, Translation
from sparkfuse_contracts.canary import CANARY_JOB
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.kafka_access import require_access
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json

ROLE: Final = "canary"
RULE: Final = "stage_retried"
FOUND, MISSED, FAILED = "found", "missed", "failed"
# The objective is 30 s; after two minutes a probe will not be answered in time for anybody.
PATIENCE_SECONDS = 120.0
FLUSH_SECONDS = 10.0
# Applications have different keys, so that the probes reach all partitions of the topics in turn.
PROBES_OF_APPLICATION = 60
POLL_SECONDS = 0.2
Event = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """The result of one probe.

    Attributes:
        outcome: ``found``, ``missed`` if no finding arrived in time, or ``failed`` if Kafka did not take the facts.
        delay_seconds: from the last fact to the finding; None unless the finding arrived.
        reason: why the probe failed; empty otherwise.
    """

    outcome: str
    delay_seconds: float | None = None
    reason: str = ""


class Canary:
    """The artificial application, and the reader of its findings; not thread-safe."""

    def __init__(self, settings: Settings, cluster: str, tenant: str, stop: threading.Event) -> None:
        """Connect to Kafka. Raises KafkaUnavailableError if a broker, a topic or a permission is missing."""
        partitions = require_access(settings, ROLE)["findings"].partitions
        self._facts, self._stop = topic_name("facts", settings.topic_prefix), stop
        self._owner = (cluster, tenant)
        self._sent: list[Message] = []
        self._problem = ""
        self._producer = Producer(
            producer_configuration(
                settings, {"client.id": "sparkfuse-canary", "enable.idempotence": True, "log_level": 0}
            )
        )
        self._consumer = Consumer(
            client_configuration(
                settings,
                {
                    "client.id": "sparkfuse-canary",
                    "group.id": f"{settings.topic_prefix}.{ROLE}",
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "fetch.wait.max.ms": 100,
                    "log_level": 0,
                },
            )
        )
        topic = topic_name("findings", settings.topic_prefix)
        self._places = [TopicPartition(topic, number) for number in partitions]
        self._application: _Application | None = None

    def probe(self, patience_seconds: float = PATIENCE_SECONDS) -> Answer:
        """Send the facts of one stage, and wait for its finding; a stop of the process ends the wait as ``missed``."""
        try:
            self._read_from_end()
            application = self._current()
            stage_id = application.next_stage()
            at_ms = self._send(application, application.stage(stage_id))
        except (KafkaException, BufferError) as error:
            return Answer(FAILED, reason=_text(error))
        if at_ms is None:
            return Answer(FAILED, reason=self._problem or "Kafka did not acknowledge the facts")
        found_ms = self._finding_ms(application.app_id, stage_id, patience_seconds)
        return Answer(MISSED) if found_ms is None else Answer(FOUND, max(0, found_ms - at_ms) / 1000)

    def close(self) -> None:
        """Send the end of the application, so that it does not look like a driver that died."""
        if self._application is not None:
            self._end(self._application)
        self._consumer.close()

    def _current(self) -> _Application:
        if self._application is None or self._application.probes >= PROBES_OF_APPLICATION:
            if self._application is not None:
                self._end(self._application)
            self._application = _Application(*self._owner)
            self._send(self._application, self._application.start())
        return self._application

    def _end(self, application: _Application) -> None:
        self._application = None
        try:
            self._send(application, application.end())
        except (KafkaException, BufferError):
            return  # the pipeline then reports an application whose driver is silent

    def _send(self, application: _Application, records: list[bytes]) -> int | None:
        """Write facts; return the broker's time of the last one in ms, None if one was not acknowledged."""
        self._sent, self._problem = [], ""
        for record in records:
            self._producer.produce(self._facts, record, application.app_id.encode(), on_delivery=self._delivered)
        self._producer.flush(FLUSH_SECONDS)
        if len(self._sent) < len(records):
            self._producer.purge()
            self._application = None  # its sequence numbers now have a gap
            return None
        return max(int(message.timestamp()[1]) for message in self._sent)

    def _delivered(self, error: Any, message: Message) -> None:
        if error is None:
            self._sent.append(message)
        else:
            self._problem = error.str()

    def _read_from_end(self) -> None:
        """Read each partition from its present end. Raises KafkaException."""
        until = time.monotonic() + FLUSH_SECONDS
        ends = [TopicPartition(place.topic, place.partition, self._end_of(place, until)) for place in self._places]
        self._consumer.assign(ends)

    def _end_of(self, place: TopicPartition, until: float) -> int:
        """Return the end of a partition; a partition without a leader is asked again until ``until``."""
        while True:
            try:
                _, end = self._consumer.get_watermark_offsets(place, timeout=FLUSH_SECONDS)
            except KafkaException:
                if time.monotonic() > until or self._stop.wait(POLL_SECONDS):
                    raise
            else:
                return int(end)

    def _finding_ms(self, app_id: str, stage_id: int, patience_seconds: float) -> int | None:
        """Return the broker's time of the finding in ms, None if it does not arrive in time."""
        until = time.monotonic() + patience_seconds
        while time.monotonic() < until and not self._stop.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            if message is not None and message.error() is None and _is_about(message.value(), app_id, stage_id):
                return int(message.timestamp()[1])
        return None


class _Application:
    """The events of one application, translated to facts as the shipper does."""

    def __init__(self, cluster: str, tenant: str) -> None:
        self.app_id = f"{CANARY_JOB}-{uuid.uuid4().hex[:12]}"
        self._numbers = itertools.count()
        self.probes = 0
        self._translation = Translation(Shipper(CANARY_JOB, cluster, tenant))

    def start(self) -> list[bytes]:
        start = {
            "Event": "SparkListenerApplicationStart",
            "App Name": CANARY_JOB,
            "App ID": self.app_id,
            "Timestamp": _now_ms(),
            "User": "sparkfuse",
        }
        properties = {"spark.sparkfuse.job": CANARY_JOB}
        return self._facts([
            {"Event": "SparkListenerLogStart", "Spark Version": "3.5.8"},
            start,
            {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties},
        ])  # fmt: skip

    def next_stage(self) -> int:
        self.probes += 1
        return next(self._numbers)

    def stage(self, stage_id: int) -> list[bytes]:
        """Return the facts of a job whose only stage runs again."""
        now = _now_ms()
        stage = {
            "Stage ID": stage_id,
            "Stage Attempt ID": 1,
            "Stage Name": "probe of the pipeline",
            "Number of Tasks": 1,
            "RDD Info": [],
            "Parent IDs": [],
            "Submission Time": now,
        }
        return self._facts([
            {"Event": "SparkListenerJobStart", "Job ID": stage_id, "Submission Time": now, "Stage IDs": [stage_id]},
            {"Event": "SparkListenerStageSubmitted", "Stage Info": stage},
            {"Event": "SparkListenerStageCompleted", "Stage Info": {**stage, "Completion Time": now}},
            {"Event": "SparkListenerJobEnd", "Job ID": stage_id, "Completion Time": now,
             "Job Result": {"Result": "JobSucceeded"}},
        ])  # fmt: skip

    def end(self) -> list[bytes]:
        return self._facts([{"Event": "SparkListenerApplicationEnd", "Timestamp": _now_ms()}])

    def _facts(self, events: list[Event]) -> list[bytes]:
        lines = [(event["Event"].removeprefix("SparkListener"), json.dumps(event).encode()) for event in events]
        return self._translation.records(Chunk(lines, 0, at_end=False))


def answers(canary: Canary, every_seconds: float, stop: threading.Event) -> Iterator[Answer]:
    """Probe at the start of each interval until ``stop`` is set; intervals that a probe used up are skipped."""
    began = time.monotonic()
    while not stop.is_set():
        yield canary.probe()
        stop.wait(every_seconds - (time.monotonic() - began) % every_seconds)


def _is_about(value: bytes | None, app_id: str, stage_id: int) -> bool:
    try:
        finding = from_json(Finding, value or b"")
    except RecordError:
        return False
    return finding.rule == RULE and any(run.app_id == app_id and run.stage_id == stage_id for run in finding.runs)


def _text(error: Exception) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else str(error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
