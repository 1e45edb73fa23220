"""Tests that each process works on a broker with an authorizer, with only the permissions of its role."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from sparkfuse.stack.process import Process, Service
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name, topics
from tests.integration.cli.conftest import PREFIX, Secured
from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.waiting import wait_for

JOB = Path(__file__).parents[1] / "collectors/jobs/small_job.py"
SECONDS = 240
Start = Callable[..., Process]
pytestmark = pytest.mark.timeout(900)


class Records:
    """Reads the new records of a topic, with the permissions of the role reader."""

    def __init__(self, secured: Secured, topic: str) -> None:
        name = topic_name(topic, PREFIX)
        own = {"group.id": f"{PREFIX}.reader", "enable.auto.commit": False}
        self._consumer = Consumer(client_configuration(secured.settings("reader", "sasl"), own))
        places = [TopicPartition(name, number) for number in range(topics()[topic].partitions)]
        for place in places:
            place.offset = self._consumer.get_watermark_offsets(place, 30)[1]
        self._consumer.assign(places)

    def read(self) -> list[bytes]:
        """Return the values that have arrived since the last call."""
        arrived = self._consumer.consume(10_000, 0.5)
        return [message.value() for message in arrived if message.error() is None]

    def close(self) -> None:
        self._consumer.close()


@contextmanager
def records(secured: Secured, topic: str) -> Iterator[Records]:
    found = Records(secured, topic)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def start(secured: Secured, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a process with the login of its role, and waits for a string in its log."""
    with ExitStack() as running:

        def start_process(role: str, listener: str, text: str, **more: str) -> Process:
            modules = {"sender": "sparkfuse_alertmanager.sender"}
            command = [sys.executable, "-m", modules.get(role, f"sparkfuse_stream_jobs.{role}")]
            environment = {
                **os.environ,
                **secured.kafka.environment(secured.file(role, listener), PREFIX),
                "SPARKFUSE_HOME": str(tmp_path / role),
                **more,
            }
            process = Process(Service(role, command, environment, stop_seconds=30), tmp_path / f"{role}.log")
            running.callback(process.stop)
            wait_for(
                lambda: text in process.last_lines(1000) or process.exit_code() is not None, SECONDS, f"{role}: {text}"
            )
            assert process.exit_code() is None, process.last_lines(30)
            return process

        yield start_process


def test_sender_joins_its_group(secured: Secured, start: Start) -> None:
    """The sender can join its group: it consumes findings, and an invalid finding becomes a dead letter."""
    producer = Producer(client_configuration(secured.settings("detect", "sasl"), {}))
    producer.produce(topic_name("findings", PREFIX), b"no finding")
    assert producer.flush(30) == 0
    with records(secured, "dead-letters") as letters:
        sender = start("sender", "tls", "sending the findings of acl.findings")
        wait_for(lambda: any(b'"sender"' in each for each in letters.read()), SECONDS, "the dead letter")

        assert sender.exit_code() is None


def test_pipeline_works_with_the_permissions_of_its_roles(secured: Secured, start: Start, tmp_path: Path) -> None:
    """From the facts of a real job, the pipeline creates rows of the live views and names of stages.

    The plugin and the detect job log in with a password, the windows job with a client certificate.
    """
    with records(secured, "facts") as facts, records(secured, "live") as live, records(secured, "names") as names:
        windows, detect = start("windows", "tls", "windows is running"), start("detect", "sasl", "detect is running")
        run = _spark_run(secured, "sasl", tmp_path)
        try:
            assert run.ended() == 0, run.text()
        finally:
            run.stop()
        app_id = wait_for(lambda: _plugin_application(facts), SECONDS, "facts of the plugin")
        wait_for(lambda: any(LiveRow.FromString(each).app_id == app_id for each in live.read()), SECONDS, "a live row")
        wait_for(lambda: any(DisplayName.FromString(each).app_id == app_id for each in names.read()), SECONDS, "a name")

        assert (windows.exit_code(), detect.exit_code()) == (None, None)


@pytest.mark.long
@pytest.mark.parametrize("listener", ["sasl", "tls"])
def test_source_is_read_with_its_own_login(secured: Secured, start: Start, kafka_bootstrap: str, listener: str) -> None:
    """The windows job reads a secured cluster with the role `source`, and writes to a home cluster without a login."""
    home = {"SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap, "SPARKFUSE_TOPIC_PREFIX": PREFIX}
    ensure_topics(Settings.from_environment(home))
    start(
        "windows", listener, "windows-eu is running", **home, SPARKFUSE_KAFKA_CONFIG="", SPARKFUSE_SOURCE="eu",
        SPARKFUSE_SOURCES=f"eu={secured.file('source', listener)}",
    )  # fmt: skip
    login = client_configuration(secured.settings("job", listener), {})
    topic = topic_name("facts", PREFIX)
    app = ScriptedApplication(
        str(login["bootstrap.servers"]), topic, f"eu-{listener}", time.time_ns() // 10**6, "default", login
    )
    app.send_fact("application_started", lane="reserved", name="job")
    app.send_fact("job_started", lane="reserved", job_id=7, stage_ids=[3])
    app.flush()
    rows = Consumer({"bootstrap.servers": kafka_bootstrap, "group.id": app.app_id})
    rows.assign(
        [TopicPartition(topic_name("live", PREFIX), number, 0) for number in range(topics()["live"].partitions)]
    )
    try:
        row = wait_for(lambda: _row_of(rows, app.app_id), SECONDS, "a row at the home cluster")
    finally:
        rows.close()

    assert (row.source, row.cluster) == ("eu", "eu")


def _row_of(live: Consumer, app_id: str) -> LiveRow | None:
    """Return the first new row of an application; None if there is none yet."""
    rows = [LiveRow.FromString(message.value()) for message in live.consume(1_000, 0.5) if message.error() is None]
    return next((row for row in rows if row.app_id == app_id), None)


def test_plugin_logs_in_with_a_client_certificate(secured: Secured, tmp_path: Path) -> None:
    """The plugin's Kafka client accepts the same certificate file as Python clients."""
    with records(secured, "facts") as facts:
        run = _spark_run(secured, "tls", tmp_path)
        try:
            assert run.ended() == 0, run.text()
        finally:
            run.stop()

        assert wait_for(lambda: _plugin_application(facts), SECONDS, "facts of the plugin")


def _spark_run(secured: Secured, listener: str, folder: Path) -> SparkRun:
    settings = {
        "spark.sparkfuse.kafka.configFile": str(secured.file("job", listener)),
        "spark.sparkfuse.topic.prefix": PREFIX,
    }
    return SparkRun("spark4", JOB, settings, folder / "job.log")


def _plugin_application(facts: Records) -> str:
    """Return the application id of the newest fact that a plugin sent, or an empty string."""
    found = [Fact.FromString(each) for each in facts.read()]
    return next((fact.app_id for fact in reversed(found) if fact.WhichOneof("kind") == "application_started"), "")
