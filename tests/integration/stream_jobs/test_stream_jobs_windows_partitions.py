"""Tests the windows job with open transactions, late facts, facts without fields, and added partitions."""

from __future__ import annotations

import contextlib
import re
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_collectors.ship.broker import TRANSACTION_SECONDS
from sparkfuse_contracts.generated import fact_pb2
from sparkfuse_stream_jobs.ticks import murmur2
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
TASKS = 5
TEN_MINUTES_MS = 600_000


@pytest.fixture(scope="module")
def metrics_port() -> int:
    """Return the port at which the windows job serves its metrics."""
    [port] = free_ports(1)
    return port


@pytest.fixture(scope="module")
def seen(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, start_job: Any, metrics_port: int
) -> Iterator[Seen]:
    """Yield the rows that a windows job on its own topics writes."""
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", Path(tmp_path_factory.mktemp("windows"))
    environment = {
        "SPARKFUSE_HOME": str(home / "home"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": "1000",
        "SPARKFUSE_METRICS_PORT": str(metrics_port),
    }
    (home / "home").mkdir()
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    seen = Seen(kafka_bootstrap, prefix)
    job = start_job("sparkfuse_stream_jobs.windows", environment, home / "windows.log")
    job.wait_until_running()
    yield seen
    seen.close()
    job.stop()


def application(seen: Seen, partition: int, partitions: int) -> ScriptedApplication:
    """Return a new application whose facts belong to ``partition`` of a topic with ``partitions`` partitions."""
    names = (f"app-{uuid.uuid4().hex[:12]}" for _ in range(10_000))
    app_id = next(name for name in names if murmur2(name.encode()) % partitions == partition)
    start_ms = time.time_ns() // 1_000_000
    return ScriptedApplication(seen.bootstrap, f"{seen.prefix}.facts", app_id, start_ms)


def run_to_its_end(app: ScriptedApplication) -> None:
    """Send all facts of an application with one stage of TASKS tasks."""
    app.send_fact("application_started", lane="reserved", name="scripted")
    app.send_fact("stage_started", lane="reserved", stage_id=0, stage_attempt=0, num_tasks=TASKS)
    for task in range(TASKS):
        app.send_fact("task_ended", stage_id=0, stage_attempt=0, task_id=task, outcome="succeeded", duration_ms=10)
    app.send_fact("stage_ended", lane="reserved", stage_id=0, stage_attempt=0)
    app.send_fact("application_ended", lane="reserved", ended_ms=app.start_ms + 1000)
    app.flush()


def ended(seen: Seen, app: ScriptedApplication) -> tuple[int, float]:
    """Wait for the end of the application; return its number of finished tasks, and the completeness."""
    row = seen.wait_for(app.app_id, "app_live", lambda row: row.application.ended_ms > 0)
    return row.application.finished_tasks, row.completeness


def test_open_transaction_of_a_dead_shipper_makes_no_fact_late(seen: Seen) -> None:
    """Until the broker aborts the transaction, later facts of the partition wait; none of them is late or lost."""
    waiting = application(seen, partition=0, partitions=2)
    dead = Producer(
        {
            "bootstrap.servers": seen.bootstrap,
            "transactional.id": f"{seen.prefix}.dead",
            "transaction.timeout.ms": int(TRANSACTION_SECONDS * 1_000),
        }
    )
    dead.init_transactions(60)
    dead.begin_transaction()
    dead.produce(f"{seen.prefix}.facts", b"never committed", partition=0)
    assert dead.flush(60) == 0
    began = time.monotonic()
    run_to_its_end(waiting)

    assert ended(seen, waiting) == (TASKS, 1.0)
    assert time.monotonic() - began > TRANSACTION_SECONDS / 2, "the transaction did not delay the later facts"


def test_facts_without_fields_do_not_stop_the_job(seen: Seen, metrics_port: int) -> None:
    """A fact that has no field but its application and its kind is skipped or rejected; the job does not restart."""
    hostile = application(seen, partition=0, partitions=2)
    for kind in fact_pb2.Fact.DESCRIPTOR.oneofs_by_name["kind"].fields:
        hostile.send_fact(kind.name)
        fact = fact_pb2.Fact(app_id=f"hostile-{kind.name}")
        getattr(fact, kind.name).SetInParent()
        hostile.send(fact.SerializeToString())
        fact.app_id = hostile.app_id
        hostile.send(fact.SerializeToString())
    hostile.flush()
    healthy = application(seen, partition=0, partitions=2)
    run_to_its_end(healthy)

    assert ended(seen, healthy) == (TASKS, 1.0)
    assert metric(metrics_port, "numRestarts") == 0
    assert metric(metrics_port, 'dead_letters_total{component="windows",topic="facts"}') > 0


def test_late_facts_are_counted_and_lower_the_completeness(seen: Seen, metrics_port: int) -> None:
    """A fact that arrives with a broker time of an earlier window is counted, and its application is incomplete.

    A broker whose clock is behind those of other brokers gives such times after it becomes the leader of a partition.
    """
    app = application(seen, partition=0, partitions=2)
    app.send_fact("application_started", lane="reserved", name="scripted")
    app.send_fact("stage_started", lane="reserved", stage_id=0, stage_attempt=0, num_tasks=2)
    app.flush()
    seen.wait_for(app.app_id, "app_live", lambda row: True)
    before = late_facts(metrics_port)
    with times_of_producers(seen):
        app.send_fact("task_ended", stage_id=0, stage_attempt=0, task_id=0, at_ms=app.start_ms - TEN_MINUTES_MS)
        app.flush()
    app.send_fact("task_ended", stage_id=0, stage_attempt=0, task_id=1, outcome="succeeded", duration_ms=10)
    app.send_fact("application_ended", lane="reserved", ended_ms=app.start_ms + 1000)
    app.flush()

    finished, completeness = ended(seen, app)
    assert (finished, round(completeness, 3)) == (1, 0.8)
    wait_for(lambda: late_facts(metrics_port) > before, 60, "the late fact to be counted")


def late_facts(port: int) -> float:
    """Return how many inputs of windows Flink dropped because they were late."""
    return metric(port, "numLateRecordsDropped")


def metric(port: int, name: str) -> float:
    """Return the value of a metric of the job; 0 if there is none."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = re.search(rf"^\w+{re.escape(name)} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


@contextlib.contextmanager
def times_of_producers(seen: Seen) -> Iterator[None]:
    """Let the broker keep the times that producers give; otherwise it sets the time of each record itself."""
    admin = AdminClient({"bootstrap.servers": seen.bootstrap})

    def set_type(value: str) -> None:
        topic = ConfigResource(ResourceType.TOPIC, f"{seen.prefix}.facts")
        topic.add_incremental_config(
            ConfigEntry("message.timestamp.type", value, incremental_operation=AlterConfigOpType.SET)
        )
        admin.incremental_alter_configs([topic])[topic].result(60)

    set_type("CreateTime")
    yield
    set_type("LogAppendTime")


def test_added_partitions_are_read(seen: Seen) -> None:
    """Facts in a partition that was added while the job runs are read, and rows are written to added partitions."""
    admin = AdminClient({"bootstrap.servers": seen.bootstrap})
    for name, count in (("facts", 4), ("live", 3)):
        topic = f"{seen.prefix}.{name}"
        admin.create_partitions([NewPartitions(topic, count)])[topic].result(60)
    seen.follow_new_partition(2)
    wait_for(lambda: records_of(seen, partition=3) >= 3, 120, "ticks in the new partition")
    apps = [application(seen, partition, partitions=4) for partition in range(4)]
    for app in apps:
        run_to_its_end(app)

    assert [ended(seen, app) for app in apps] == [(TASKS, 1.0)] * 4


def records_of(seen: Seen, partition: int) -> int:
    """Return the number of records in a partition of the topic facts."""
    consumer = Consumer({"bootstrap.servers": seen.bootstrap, "group.id": "test"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(f"{seen.prefix}.facts", partition), timeout=60)
        return int(end)
    finally:
        consumer.close()
