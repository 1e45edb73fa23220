"""Runs job scripts on real Spark with the plugin, and reads the topics."""

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
from tests.processes import end_session
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
JAR = ROOT / "collectors/spark-plugin/target/sparkfuse-spark-plugin.jar"
VERSIONS = ("spark33", "spark34", "spark35", "spark40", "spark4")
ENVIRONMENTS = {version: ROOT / "build/envs" / version / "bin/python" for version in (*VERSIONS, "connect")}
"""`make setup` creates only spark35 and spark4; `make test-matrix` creates the other versions."""
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM option that disables the second compiler, which would use half of the CPU time of a short run."""
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
"""A job takes 15 s on an idle host, and minutes on a busy one."""
CLIENT_STOP_SECONDS = 30
"""Without a time limit, closing a Kafka client takes minutes if the broker is away.

The plugin's own limit of 2 s is not checked, because on a busy host Spark alone can take longer to stop.
"""


class SparkRun:
    """One job script in a Spark environment; tests wait for lines of its output."""

    def __init__(self, version: str, script: Path, settings: dict[str, str], log: Path) -> None:
        options = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in (SETTINGS | settings).items())
        python = str(ENVIRONMENTS[version])
        environment = {
            **os.environ,
            "SPARK_HOME": str(_linked_home(ENVIRONMENTS[version], log.parent / f"spark-of-{log.stem}")),
            "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
            "PYSPARK_PYTHON": python,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "cli"), str(script.parent)]),
        }
        self.log = log
        self.lines: list[str] = []
        self._output = log.open("w")
        self._process = subprocess.Popen(
            [python, str(script)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=self._output,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self.lines.append(line.rstrip())

    @property
    def pid(self) -> int:
        """The process of the script; the driver's JVM is its child."""
        return self._process.pid

    def wait_for_line(self, word: str) -> str:
        """Wait for a line that begins with a word, and return the rest of the line."""

        def find() -> str | None:
            found = [line[len(word) :].strip() for line in self.lines if line.startswith(word)]
            if not found and self._process.poll() is not None and not self._reader.is_alive():
                raise AssertionError(f"the job ended without '{word}':\n{self.text()[-4000:]}")
            return found[0] or "yes" if found else None

        return wait_for(find, JOB_SECONDS, f"'{word}' of the job")

    def ended(self) -> int:
        """Wait for the end of the job and return its exit code."""
        code = self._process.wait(JOB_SECONDS)
        self._reader.join(10)
        return code

    def text(self) -> str:
        """Return the output and the log that the job has written so far."""
        return "\n".join(self.lines) + "\n" + self.log.read_text()

    def stop(self) -> None:
        """Stop the script and the driver's JVM, which can outlive it and then keeps the output open."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)
        end_session(self.pid)
        self._reader.join()
        self._process.stdout.close()
        self._output.close()


def ended_tasks(job: SparkRun) -> int:
    """Return how many tasks have ended according to the output of `steady_job.py`."""
    lines = [line for line in job.lines if line.startswith("ENDED")]
    return int(lines[-1].split()[1]) if lines else 0


def _linked_home(python: Path, home: Path) -> Path:
    """Link an installation of Spark into a folder, because a local cluster always writes executor files below it.

    With the link, concurrent runs of one environment do not share these files, and the environment stays clean.
    """
    [installed] = python.parents[1].glob("lib/python*/site-packages/pyspark")
    home.mkdir()
    for entry in installed.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    return home


def create_topics(bootstrap: str, prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    # Sparkfuse requires this: with the broker's timestamps, records of a driver with a wrong clock are not refused.
    stamped = {"message.timestamp.type": "LogAppendTime"}
    partitions = {f"{prefix}.{name}": 2 for name in ("facts", "signals", "receipts")} | {f"{prefix}.controls": 1}
    compacted = stamped | {"cleanup.policy": "compact"}
    topics = [
        NewTopic(name, number, 1, config=compacted if name.endswith(".controls") else stamped)
        for name, number in partitions.items()
    ]
    for name, created in admin.create_topics(topics).items():
        created.result(60)
        number = partitions[name]
        wait_for(lambda name=name, number=number: _partitions(admin, name) == number, 60, name)


def _partitions(admin: AdminClient, name: str) -> int:
    return len(admin.list_topics(name, 30).topics[name].partitions)


class TopicReader:
    """Reads one topic from its beginning; `values` contains all records so far."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
        partitions = self._consumer.list_topics(topic, 30).topics[topic].partitions
        self._partitions = [TopicPartition(topic, number, 0) for number in partitions]
        self._consumer.assign(self._partitions)
        self._next = dict.fromkeys(partitions, 0)
        self.values: list[bytes] = []

    def read(self) -> list[bytes]:
        """Read and return all records up to the current end of the topic."""
        ends = wait_for(self._ends, 60, "the ends of the topic")
        wait_for(lambda: self._read_to(ends), 60, "the records that the topic holds")
        return self.values

    def _ends(self) -> dict[int, int] | None:
        """Return the end of each partition, or None while a new topic has no leader."""
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
    """Reads the facts in the topic of one prefix."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._reader = TopicReader(bootstrap, f"{prefix}.facts")

    def all(self) -> list[Fact]:
        return [Fact.FromString(value) for value in self._reader.read()]

    def of(self, kind: str) -> list:
        return [getattr(fact, kind) for fact in self.all() if fact.WhichOneof("kind") == kind]

    def numbers(self) -> dict[tuple[str, str], list[int]]:
        """Return the `seq` of each collector and lane, in the order of the topic."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for fact in self.all():
            found[fact.collector, fact.lane].append(fact.seq)
        return dict(found)

    def close(self) -> None:
        self._reader.close()
