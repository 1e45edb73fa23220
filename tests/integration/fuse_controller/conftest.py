"""Runs the fuse controller as a process with a real broker and a real Alertmanager."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.keys import (
    ACT,
    APPROVE,
    KeyRing,
    ensure_key_pairs,
    load_private_key,
    private_key_file,
    read_key_ring,
)
from sparkfuse_native_analytics.fuse_operator.orders import Operator
from tests.kafka import in_order, settings_of
from tests.waiting import wait_for

ALERTMANAGER = "prometheus-alertmanager"
QUIET_CONFIGURATION = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


@pytest.fixture
def alertmanager_url(tmp_path: Path, free_port) -> Iterator[str]:
    """Yield the address of an Alertmanager without receivers."""
    port, configuration = free_port(), tmp_path / "alertmanager.yml"
    configuration.write_text(QUIET_CONFIGURATION)
    command = [ALERTMANAGER, f"--config.file={configuration}", f"--storage.path={tmp_path / 'alerts'}",
               f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: _answers(f"{url}/-/ready"), 60, "Alertmanager")
        yield url
    finally:
        process.terminate()
        process.wait(60)


class Bus:
    """Reads and writes the topics of the test."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.prefix = settings, settings.topic_prefix
        self._producer = in_order(settings.kafka_bootstrap)

    def put(self, topic: str, *records: tuple[str, bytes]) -> None:
        """Write records of key and value, and wait until the broker has stored them."""
        for key, value in records:
            self._producer.produce(f"{self.prefix}.{topic}", value, key)
        assert self._producer.flush(20) == 0

    def all_of(self, topic: str):
        """Return all messages that the topic contains now."""
        name = f"{self.prefix}.{topic}"
        consumer = Consumer({"bootstrap.servers": self.settings.kafka_bootstrap, "group.id": "test",
                             "enable.auto.commit": False, "enable.partition.eof": True,
                             "isolation.level": "read_committed"})  # fmt: skip
        try:
            partitions = consumer.list_topics(name, timeout=20).topics[name].partitions
            consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in partitions])
            found: list[Message] = []
            ended: set[int | None] = set()

            def complete() -> bool:
                for message in consumer.consume(500, 0.2):
                    if message.error() is None:
                        found.append(message)
                    else:
                        assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                        ended.add(message.partition())
                return len(ended) == len(partitions)

            wait_for(complete, 60, f"{topic}'s records")
            return found
        finally:
            consumer.close()


@pytest.fixture
def bus(kafka_bootstrap: str, topic_prefix: str) -> Bus:
    """Yield topics of this test on the shared broker."""
    settings = settings_of(kafka_bootstrap, topic_prefix)
    ensure_topics(settings)
    return Bus(settings)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return the folder of the key pairs."""
    ensure_key_pairs(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.fixture
def key_ring(keys: Path) -> KeyRing:
    """Return the public keys."""
    return read_key_ring(ensure_key_pairs(keys))


@pytest.fixture
def operator(keys: Path) -> Operator:
    """Return a person who signs controls."""
    return Operator("erin", load_private_key(private_key_file(keys, APPROVE)))


class ControllerProcess:
    """The process of the fuse controller."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment, self._log = {**os.environ, **environment}, log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until the controller evaluates policies."""
        seen = self.log_text().count("evaluating")
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "sparkfuse_native_analytics.fuse_controller"]
            self.process = subprocess.Popen(command, env=self.environment, stderr=log, stdout=log)
        wait_for(lambda: self.log_text().count("evaluating") > seen, 240, "the fuse controller in its log")

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait(60)

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def log_text(self) -> str:
        """Return what the process has logged."""
        return self._log.read_text() if self._log.exists() else ""


@pytest.fixture
def make_process(tmp_path: Path, bus: Bus, keys: Path, alertmanager_url: str) -> Iterator:
    """Return a function that starts a controller that can be armed without probes; it is stopped after the test."""
    processes: list[ControllerProcess] = []
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text("fuse: {arming: {probes: 0}}")

    def make(mode: str, name: str = "first") -> ControllerProcess:
        environment = {
            "SPARKFUSE_KAFKA_BOOTSTRAP": bus.settings.kafka_bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": bus.prefix,
            "SPARKFUSE_ALERTMANAGER_URLS": alertmanager_url,
            "SPARKFUSE_CONFIG": str(configuration),
            "SPARKFUSE_FUSE_MODE": mode,
            "SPARKFUSE_SIGNING_KEY": str(private_key_file(keys, ACT)),
            "SPARKFUSE_APPROVE_KEY": str(private_key_file(keys, APPROVE)),
            "SPARKFUSE_PUBLIC_KEYS": ensure_key_pairs(keys),
        }
        processes.append(ControllerProcess(environment, tmp_path / f"controller-{name}.log"))
        processes[-1].start()
        return processes[-1]

    yield make
    for each in processes:
        if each.process.poll() is None:
            each.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
