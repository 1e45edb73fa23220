"""A Kafka cluster of a source that a test kills and starts again, and the findings of the home cluster."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from tests.waiting import wait_for

LIBRARIES = Path(__file__).parents[3] / "build" / "kafka-libs"


class SourceCluster:
    """One real broker, and the properties file of its clients."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout.from_environment(folder, Ports.free(), environment={})
        self.bootstrap = self._layout.kafka_bootstrap
        self.config = folder / "eu.properties"
        self.config.write_text(f"bootstrap.servers={self.bootstrap}\n")

    def start(self) -> None:
        """Start the broker with its data of before, and wait until it answers."""
        service = Broker(self._layout, LIBRARIES).service()
        self._process = Process(service, self._layout.logs / "kafka.log")
        wait_for(service.ready, service.ready_seconds, "the broker of the source")

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.stop()

    def stop(self) -> None:
        """Stop the broker if it runs."""
        self._process.stop()


class Findings:
    """Reads all findings that the detect jobs publish at the home cluster."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test"})
        count = topics()["findings"].partitions
        self._consumer.assign([TopicPartition(f"{prefix}.findings", number, 0) for number in range(count)])
        self._found: list[Finding] = []

    def of(self, rule: str, app_id: str) -> list[Finding]:
        """Return all records of findings of a rule about an application, in their order."""
        for message in self._consumer.consume(1000, timeout=0.3):
            if message.error() is None:
                self._found.append(from_json(Finding, message.value()))
        return [each for each in self._found if each.rule == rule and app_id in {run.app_id for run in each.runs}]

    def states(self, rule: str, app_id: str) -> list[str]:
        """Return the states of these findings."""
        return [each.state for each in self.of(rule, app_id)]

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


def metric(port: int, name: str) -> float | None:
    """Return the value of a metric's first series; None if the process serves no such metric."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return None
    values = [line.rsplit(" ", 1)[1] for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
    return float(values[0]) if values else None


@contextmanager
def running(cluster: SourceCluster) -> Iterator[SourceCluster]:
    """Start the broker, and stop it at the end."""
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
