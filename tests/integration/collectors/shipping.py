"""Helpers for tests: a growing event log, a shipper in its own process, and the records that it committed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, TopicPartition

from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.topics import topics
from sparkfuse_kernel import Decompressor
from tests.kafka import settings_of

ROOT = Path(__file__).parents[3]
LOGS = ROOT / "tests" / "logs"


def plain(log: Path) -> bytes:
    """Return the decompressed content of a log that consists of one file."""
    decompressor = Decompressor()
    content = log.read_bytes()
    return b"".join(decompressor.feed(content[at : at + 16_384]) for at in range(0, len(content), 16_384))


class Template:
    """The lines of a log that Spark wrote, from which a test creates logs of other applications."""

    def __init__(self, log: Path) -> None:
        self._lines = plain(log).splitlines(keepends=True)

    def lines(self, app_id: str, start_ms: int) -> list[bytes]:
        """Return the lines with another application id and start time; all other times stay unchanged."""
        return [self._renamed(line, app_id, start_ms) for line in self._lines]

    @staticmethod
    def _renamed(line: bytes, app_id: str, start_ms: int) -> bytes:
        if not line.startswith(b'{"Event":"SparkListenerApplicationStart"'):
            return line
        event = json.loads(line)
        event["App ID"], event["Timestamp"] = app_id, start_ms
        return json.dumps(event, separators=(",", ":")).encode() + b"\n"


class Shipping:
    """A shipper process that can be killed and restarted under its name."""

    def __init__(self, bootstrap: str, prefix: str, home: Path, *arguments: str, command: str = "ship") -> None:
        self.log = home / f"{command}.log"
        self._command = [sys.executable, "-m", "sparkfuse.main", command, *arguments, "--home", str(home)]
        self._environment = {
            **os.environ, "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap, "SPARKFUSE_TOPIC_PREFIX": prefix,
        }  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        """Start the process; its output goes to the log."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env={**self._environment, **environment}, stdout=subprocess.PIPE, stderr=log
            )

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        """Send SIGTERM; return the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=90)
        return self.process.returncode

    def ended(self, seconds: float = 300) -> tuple[int, str]:
        """Wait for the end of the process; return exit code and standard output."""
        assert self.process is not None
        output, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, output.decode()


class Committed:
    """Reads the committed records of a topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False,
            "enable.partition.eof": True, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
        })  # fmt: skip
        self._partitions = list(self._consumer.list_topics(topic, 30).topics[topic].partitions)
        self._topic = topic
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] = []

    def read(self) -> list[bytes | None]:
        """Return all values from the beginning to the current end of the topic."""
        self.values, self.keys = [], []
        self._consumer.assign([TopicPartition(self._topic, number, 0) for number in self._partitions])
        waiting = set(self._partitions)
        while waiting:
            message = self._consumer.poll(60)
            assert message is not None, f"{self._topic} returned no message"
            if message.error() is None:
                self.values.append(message.value())
                self.keys.append(message.key())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                waiting.discard(message.partition())
        return self.values

    def facts(self) -> list[Fact]:
        """Read new records; return the facts that shippers sent so far, without health facts."""
        self.read()
        return [fact for fact in self.all() if fact.WhichOneof("kind") != "collector_health"]

    def all(self) -> list[Fact]:
        """Return the facts that were read so far and that shippers sent; ticks of the pipeline are left out."""
        facts = [Fact.FromString(value) for value in self.values if value is not None]
        return [fact for fact in facts if fact.collector.startswith("shipper-")]

    def close(self) -> None:
        self._consumer.close()


def create_all_topics(bootstrap: str, prefix: str) -> None:
    """Create all topics of the contract with a prefix."""
    from sparkfuse.stack.topics import ensure_topics

    ensure_topics(settings_of(bootstrap, prefix))
    assert topics()


def kinds(facts: list[Fact]) -> Counter[str]:
    return Counter(str(fact.WhichOneof("kind")) for fact in facts)


def holes(facts: list[Fact]) -> dict[tuple[str, str], list[int]]:
    """Return missing and duplicate sequence numbers by application and lane. ``facts`` must include health facts."""
    numbers: dict[tuple[str, str], Counter[int]] = {}
    for fact in facts:
        numbers.setdefault((fact.app_id, fact.lane), Counter())[fact.seq] += 1
    found = {}
    for place, seen in numbers.items():
        wrong = [number for number in range(max(seen) + 1) if seen[number] != 1]
        if wrong:
            found[place] = wrong
    return found
