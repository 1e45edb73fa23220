"""Runs job scripts on real Spark with the plugin, and reads what came to the broker."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections import defaultdict
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse_contracts.generated.fact_pb2 import Fact
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
JAR = ROOT / "collectors/spark-plugin/target/sparkfuse-spark-plugin.jar"
VERSIONS = ("spark33", "spark34", "spark35", "spark40", "spark4")
ENVIRONMENTS = {version: ROOT / "build/envs" / version / "bin/python" for version in VERSIONS}
"""Only spark35 and spark4 are made by `make setup`; `make test-matrix` makes the others."""
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Half of the CPU of so short a JVM would go into its second compiler."""
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.driver.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "2",
    "spark.jars": str(JAR),
    "spark.plugins": "io.sparkfuse.spark.SparkfusePlugin",
    "spark.sparkfuse.sample.interval": "300ms",
    "spark.sparkfuse.sample.stackAfter": "1s",
}
JOB_SECONDS = 300
"""A job takes 15 s on a quiet machine; on one that builds and tests all else at once, minutes."""
CLIENT_STOP_SECONDS = 30
"""A Kafka client waits for a broker that is away for minutes when it is closed.

The plugin's own two seconds are not looked for here: on a busy machine Spark takes longer to stop without any plugin.
"""


class SparkRun:
    """One job script in a Spark environment: its lines on stdout are what the test waits for."""

    def __init__(self, version: str, script: Path, settings: dict[str, str], log: Path) -> None:
        options = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in (SETTINGS | settings).items())
        python = str(ENVIRONMENTS[version])
        environment = {
            **os.environ,
            "SPARK_HOME": str(_home_of_its_own(ENVIRONMENTS[version], log.parent / f"spark-of-{log.stem}")),
            "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
            "PYSPARK_PYTHON": python,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "cli"), str(script.parent)]),
        }
        self.log = log
        self.lines: list[str] = []
        self._output = log.open("w")
        self._process = subprocess.Popen(
            [python, str(script)], env=environment, stdout=subprocess.PIPE, stderr=self._output, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self.lines.append(line.rstrip())

    def said(self, word: str) -> str:
        """What follows a word at the beginning of a line, as soon as the job says it."""

        def find() -> str | None:
            found = [line[len(word) :].strip() for line in self.lines if line.startswith(word)]
            if not found and self._process.poll() is not None and not self._reader.is_alive():
                raise AssertionError(f"the job ended without '{word}':\n{self.text()[-4000:]}")
            return found[0] or "yes" if found else None

        return wait_for(find, JOB_SECONDS, f"'{word}' of the job")

    def ended(self) -> int:
        """The exit code, when the job has ended."""
        code = self._process.wait(JOB_SECONDS)
        self._reader.join(10)
        return code

    def text(self) -> str:
        """All that was written so far."""
        return "\n".join(self.lines) + "\n" + self.log.read_text()

    def stop(self) -> None:
        """Leave no process behind; the driver's JVM goes with its Python process."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)
        self._reader.join(10)
        self._process.stdout.close()
        self._output.close()


def _home_of_its_own(python: Path, home: Path) -> Path:
    """An installation of Spark by links: a local cluster keeps its executors' files below it, whatever is configured.

    So runs beside each other in one environment do not share them, and nothing is left there.
    """
    [installed] = python.parents[1].glob("lib/python*/site-packages/pyspark")
    home.mkdir()
    for entry in installed.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    return home


def create_topics(bootstrap: str, prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    # As the product asks for: by the broker's time, to which a driver whose clock is wrong cannot be too late or early.
    stamped = {"message.timestamp.type": "LogAppendTime"}
    topics = [NewTopic(f"{prefix}.{name}", 2, 1, config=stamped) for name in ("facts", "signals", "actions")]
    for name, created in admin.create_topics(topics).items():
        created.result(60)
        wait_for(lambda name=name: len(admin.list_topics(name, 30).topics[name].partitions) == 2, 60, name)


class TopicReader:
    """Reads one topic from its beginning; `values` are those of all records that came so far."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
        partitions = self._consumer.list_topics(topic, 30).topics[topic].partitions
        self._partitions = [TopicPartition(topic, number, 0) for number in partitions]
        self._consumer.assign(self._partitions)
        self._next = dict.fromkeys(partitions, 0)
        self.values: list[bytes] = []

    def read(self) -> list[bytes]:
        """All records that the topic holds at this moment; those that come meanwhile are for the next call."""
        ends = wait_for(self._ends, 60, "the ends of the topic")
        wait_for(lambda: self._read_to(ends), 60, "the records that the topic holds")
        return self.values

    def _ends(self) -> dict[int, int] | None:
        """Where each partition ends; None while a topic that was just made has no leader yet."""
        try:
            return {part.partition: self._consumer.get_watermark_offsets(part, 20)[1] for part in self._partitions}
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
                raise
            return None

    def _read_to(self, ends: dict[int, int]) -> bool:
        if all(self._next[number] >= end for number, end in ends.items()):
            return True
        for message in self._consumer.consume(1_000, 0.2):
            if message.error() is None:
                self.values.append(message.value())
                self._next[message.partition()] = message.offset() + 1
        return False

    def close(self) -> None:
        self._consumer.close()


class Facts:
    """The facts of one prefix, by kind."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._reader = TopicReader(bootstrap, f"{prefix}.facts")

    def all(self) -> list[Fact]:
        return [Fact.FromString(value) for value in self._reader.read()]

    def of(self, kind: str) -> list:
        return [getattr(fact, kind) for fact in self.all() if fact.WhichOneof("kind") == kind]

    def numbers(self) -> dict[tuple[str, str], list[int]]:
        """The `seq` of each collector and lane, in the order of the topic."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for fact in self.all():
            found[fact.collector, fact.lane].append(fact.seq)
        return dict(found)

    def close(self) -> None:
        self._reader.close()
