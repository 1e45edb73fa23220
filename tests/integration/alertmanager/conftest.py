"""Run the real Alertmanager, Prometheus and sender for one test, each on free ports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from confluent_kafka import Producer

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_alertmanager.processes import alertmanager_command
from sparkfuse_alertmanager.receiver import Receiver
from sparkfuse_alertmanager.render import Destinations, write_alertmanager
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.wire import to_json
from tests.kafka import in_order, settings_of
from tests.waiting import wait_for


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


@dataclass
class Part:
    """One process under test; its log becomes the failure message of the test."""

    name: str
    command: list[str]
    ready_url: str
    log_file: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None

    def start(self) -> Part:
        """Start the process and wait until it answers."""
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env={**os.environ, **self.environment}, start_new_session=True
            )
        wait_for(self._ready, 180, f"{self.name} to answer")
        return self

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send a signal and return the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def log(self) -> str:
        """Return the log of the process."""
        return self.log_file.read_text()

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended: {self.log()}"
        return answers(self.ready_url)


@pytest.fixture
def part(tmp_path) -> Iterator[Callable[..., Part]]:
    """Return a function that creates a process; running processes are killed at the end of the test."""
    parts: list[Part] = []

    def describe(name: str, command: list[str], ready_url: str, environment: dict[str, str] | None = None) -> Part:
        parts.append(Part(name, command, ready_url, tmp_path / f"{name}.log", environment or {}))
        return parts[-1]

    yield describe
    for each in parts:
        if each.process is not None:
            each.kill()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@dataclass(frozen=True)
class Alertmanager:
    """A running Alertmanager with the configuration of Sparkfuse."""

    part: Part
    url: str


@pytest.fixture
def alertmanager(part, receiver, free_port, tmp_path) -> Alertmanager:
    """Start an Alertmanager that notifies the receiver as webhook, Slack and dead man's switch."""
    slack = tmp_path / "slack_url"
    slack.write_text(receiver.slack_url)
    destinations = Destinations(receiver.url, slack, None, receiver.heartbeat_url)
    port = free_port()
    command = alertmanager_command(write_alertmanager(tmp_path, destinations), tmp_path / "alertmanager", port)
    url = f"http://127.0.0.1:{port}"
    return Alertmanager(part("alertmanager", command, f"{url}/-/ready").start(), url)


@dataclass(frozen=True)
class Findings:
    """The topic of findings of this test."""

    prefix: str
    producer: Producer

    def publish(self, *findings: Finding) -> None:
        """Write findings in the given order as one batch, so that the sender reads them together."""
        self.publish_bytes(*(to_json(finding) for finding in findings))

    def publish_bytes(self, *values: bytes) -> None:
        """Write any records in the given order."""
        for value in values:
            self.producer.produce(f"{self.prefix}.findings", value, key=b"same partition, so one order")
        assert self.producer.flush(60) == 0


@pytest.fixture
def findings(kafka_bootstrap, topic_prefix) -> Findings:
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    return Findings(topic_prefix, in_order(kafka_bootstrap, **{"linger.ms": 60_000}))


@pytest.fixture
def sender(part, findings, kafka_bootstrap, free_port) -> Callable[..., Part]:
    """Return a function that starts the sender for the given Alertmanagers and waits until it serves its metrics."""

    def start(*urls: str, pages_per_day: int = 0) -> Part:
        port = free_port()
        environment = {
            "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": findings.prefix,
            "SPARKFUSE_ALERTMANAGER_URLS": ",".join(urls),
            "SPARKFUSE_METRICS_PORT": str(port),
            "SPARKFUSE_PAGES_PER_DAY": str(pages_per_day),
        }
        command = [sys.executable, "-m", "sparkfuse_alertmanager.sender"]
        return part("sender", command, f"http://127.0.0.1:{port}/metrics", environment).start()

    return start
