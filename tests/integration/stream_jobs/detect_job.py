"""Runs the detect job as a process between real topics, for tests that send rows and read its output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory, latest_checkpoint
from tests.kafka import in_order
from tests.processes import alive
from tests.unit.stream_jobs.detect_rows import tick
from tests.waiting import wait_for

MODULE = "sparkfuse_stream_jobs.detect"
OUTPUTS = ("findings", "baselines", "names", "dead-letters")
START_SECONDS = 240
ANSWER_SECONDS = 90


class DetectJob:
    """Starts, kills and stops the job, sends rows to it and reads the records that it writes."""

    def __init__(self, bootstrap: str, prefix: str, home: Path, arguments: Iterable[str], metrics_port: int) -> None:
        self.home = home
        self._prefix = prefix
        self._arguments = list(arguments)
        self._metrics = f"http://127.0.0.1:{metrics_port}/metrics"
        self._environment = {
            **os.environ,
            "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": prefix,
            "SPARKFUSE_HOME": str(home),
            "SPARKFUSE_METRICS_PORT": str(metrics_port),
        }
        self._producer = in_order(bootstrap)
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test"})
        read = [(name, part) for name in OUTPUTS for part in range(topics()[name].partitions)]
        self._consumer.assign([TopicPartition(f"{prefix}.{name}", part, 0) for name, part in read])
        self._records: dict[str, list[bytes]] = {name: [] for name in OUTPUTS}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the job and wait until it reads records."""
        lock = self.home / "detect.lock"
        lock.unlink(missing_ok=True)
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "output.log").open("ab") as output:
            command = [sys.executable, "-m", MODULE, *self._arguments]
            self._process = subprocess.Popen(command, env=self._environment, stdout=output, stderr=output)
        wait_for(lambda: self._ended() or self._jvm_of(lock), START_SECONDS, f"detect; see {self.home}/output.log")
        if self._ended():
            raise AssertionError(f"detect ended while it started:\n{self.output()[-3000:]}")
        self.pass_time(1)
        read = 'sparkfuse_records_read_total{component="detect",topic="live"}'
        wait_for(lambda: self._ended() or self.metric(read) > 0, START_SECONDS, "detect to read")

    def kill(self) -> None:
        """Kill launcher and JVM with SIGKILL."""
        assert self._process is not None
        java = self._jvm_of(self.home / "detect.lock")
        assert java
        os.kill(java, signal.SIGKILL)
        self._process.kill()
        self._process.wait(30)
        wait_for(lambda: not alive(java), 60, "the JVM to exit")

    def stop(self) -> int:
        """Stop the job with SIGTERM, and return its exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(120)

    def close(self) -> None:
        """Stop the job if it runs, and close the consumer."""
        if self._process is not None and not self._ended():
            self.stop()
        self._consumer.close()

    def send(self, rows: Iterable[LiveRow]) -> None:
        """Write rows to the topic live, as the windows job does."""
        for row in rows:
            self._producer.produce(f"{self._prefix}.live", row.SerializeToString(), key=row.app_id)
        assert self._producer.flush(30) == 0

    def send_junk(self, content: bytes) -> None:
        """Write a record that is not a row."""
        self._producer.produce(f"{self._prefix}.live", content, partition=0)
        assert self._producer.flush(30) == 0

    def dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters that the job wrote."""
        self._read()
        return [from_json(DeadLetter, record) for record in self._records["dead-letters"]]

    def pass_time(self, at: int, partitions: Iterable[int] | None = None) -> None:
        """Send a tick that advances the time of the partitions (by default, of all) to ``at``."""
        for partition in range(topics()["live"].partitions) if partitions is None else partitions:
            content = tick(at, partition).SerializeToString()
            self._producer.produce(f"{self._prefix}.live", content, partition=partition)
        assert self._producer.flush(30) == 0

    def findings(self, rule: str, job_key: str) -> list[Finding]:
        """Return all records of findings of one rule about one job, in their order."""
        self._read()
        found = [from_json(Finding, record) for record in self._records["findings"]]
        return [each for each in found if (each.rule, each.job_key) == (rule, job_key)]

    def new_findings(self, seen: int) -> list[Finding]:
        """Return the records of findings after the first ``seen``, in their order."""
        self._read()
        return [from_json(Finding, record) for record in self._records["findings"][seen:]]

    def baselines(self) -> list[Baseline]:
        """Return all records of the topic baselines."""
        self._read()
        return [from_json(Baseline, record) for record in self._records["baselines"]]

    def names(self, app_id: str) -> list[DisplayName]:
        """Return all records of the topic names about an application, in their order."""
        self._read()
        found = [DisplayName.FromString(record) for record in self._records["names"]]
        return [name for name in found if name.app_id == app_id]

    def wait_for_finding(self, rule: str, job_key: str, holds: Callable[[Finding], bool], what: str) -> Finding:
        """Wait for the first record for which ``holds`` returns true, and return the record."""

        def first() -> Finding | None:
            return next((each for each in self.findings(rule, job_key) if holds(each)), None)

        found = wait_for(first, ANSWER_SECONDS, what)
        assert found is not None
        return found

    def metric(self, line: str) -> float:
        """Return the value of one line of the metrics, 0 if there is none."""
        lines = wait_for(self._metrics_text, ANSWER_SECONDS, "the metrics").splitlines()
        return sum(float(each.rsplit(" ", 1)[1]) for each in lines if each.startswith(line + " "))

    def _metrics_text(self) -> str:
        """Return the metrics, or an empty string while the process is too busy to answer."""
        try:
            with urllib.request.urlopen(self._metrics, timeout=30) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    def wait_for_checkpoint(self) -> None:
        """Wait for a new checkpoint."""
        directory = checkpoint_directory(self.home, "detect")
        before = {path.name for path in directory.glob("*/chk-*")}

        def newer() -> bool:
            latest = latest_checkpoint(directory)
            return latest is not None and latest.name not in before

        wait_for(newer, ANSWER_SECONDS, "a new checkpoint")

    def launcher(self) -> int:
        """Return the process id of the launcher."""
        assert self._process is not None
        return self._process.pid

    def output(self) -> str:
        """Return the output of the process."""
        return (self.home / "output.log").read_text()

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    @staticmethod
    def _jvm_of(lock: Path) -> int:
        text = lock.read_text().strip() if lock.exists() else ""
        return int(text) if text.isdigit() else 0

    def _read(self) -> None:
        for message in self._consumer.consume(1000, timeout=0.2):
            if message.error() is None:
                self._records[message.topic().rsplit(".", 1)[-1]].append(message.value())
