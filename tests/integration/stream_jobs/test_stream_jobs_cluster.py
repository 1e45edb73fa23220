"""Runs both jobs on a standalone Flink cluster at parallelism 2, and compares their output with the mini cluster's.

While the applications run, one task manager and then the job manager are killed. Checkpoints are in a shared folder,
and in a second run in a bucket of an S3-compatible server.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from tests.flink_cluster import FlinkCluster
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.recorded_stages import RecordedStages
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.scripted_failures import FailingApplication
from tests.integration.stream_jobs.scripted_orders import begin, continue_run, finish
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.stage_cases import CASES, app_id
from tests.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]
WINDOWS, DETECT = "sparkfuse_stream_jobs.windows", "sparkfuse_stream_jobs.detect"
WINDOW_MS = 1000
BUCKET = "sparkfuse-state"
OF_JOB_MANAGER = ("numRestarts", "numberOfCompletedCheckpoints")
FINDING_SECONDS = 120
TEN_MINUTES_MS = 600_000
Key = tuple[str, str, str, str]


@dataclass
class Output:
    """The rows and findings of one run of both jobs, and what Flink reported about the run."""

    seen: Seen
    consumer: Consumer
    found: list[Finding] = field(default_factory=list)
    restarts: dict[str, int] = field(default_factory=dict)
    parallelism: dict[str, set[int]] = field(default_factory=dict)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)

    def findings(self) -> set[Key]:
        """Return rule, job, scope and severity of each finding that fired."""
        for message in self.consumer.consume(1000, timeout=0.3):
            if message.error() is None:
                self.found.append(from_json(Finding, message.value()))
        firing = [each for each in self.found if each.state == "firing"]
        return {(each.rule, each.job_key, each.scope, each.severity) for each in firing}

    def close(self) -> None:
        """Close both consumers."""
        self.seen.close()
        self.consumer.close()


def output_of(bootstrap: str, prefix: str) -> Output:
    """Create the topics of a prefix, and return readers of the rows and the findings."""
    ensure_topics(settings_of(bootstrap, prefix))
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test"})
    count = topics()["findings"].partitions
    consumer.assign([TopicPartition(f"{prefix}.findings", number, 0) for number in range(count)])
    return Output(Seen(bootstrap, prefix), consumer)


class Applications:
    """The scripted applications, in three parts."""

    def __init__(self, bootstrap: str, prefix: str, seen: Seen) -> None:
        topic, self._seen = f"{prefix}.facts", seen
        start_ms = int(time.time() * 1000) - TEN_MINUTES_MS
        self._orders = ScriptedApplication(bootstrap, topic, "orders", start_ms)
        self._failing = FailingApplication(bootstrap, topic, seen)
        self._recorded = RecordedStages(bootstrap, topic)

    def begin(self) -> None:
        """Send the starts, and wait for their rows."""
        begin(self._orders, self._seen)
        self._failing.begin()
        # Both halves at once: between them the facts have gaps, and how long a gap lasts may change the findings.
        self._recorded.begin()
        self._recorded.end()

    def go_on(self) -> None:
        """Send the middle of the runs, and wait for its rows."""
        continue_run(self._orders, self._seen)
        self._failing.end()

    def finish(self) -> None:
        """Send the last facts."""
        finish(self._orders)

    def wait_until_ended(self) -> None:
        """Wait for the last row of each application."""
        self._seen.wait_for("orders", "application_ended", lambda row: True)
        self._seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 6)
        for case in CASES:
            self._seen.wait_for(app_id(case), "stage_live", lambda row, case=case: has_ended(row.stage, case))


def has_ended(stage: Any, case: Any) -> bool:
    """Return whether the row of a stage includes the end of the stage and the ends of all its tasks."""
    return bool(stage.HasField("completed_ms")) and stage.finished_tasks + stage.resubmitted_tasks == len(case["tasks"])


@pytest.fixture(scope="module")
def expected(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, start_job: Callable[..., Any]
) -> Iterator[Output]:
    """Return the output of the mini cluster, without a kill."""
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", tmp_path_factory.mktemp("mini")
    output = output_of(kafka_bootstrap, prefix)
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    windows = start_job(WINDOWS, environment, home / "windows.log")
    windows.wait_until_running()
    [port] = free_ports(1)
    os.environ["SPARKFUSE_WINDOW_MS"], before = str(WINDOW_MS), os.environ.get("SPARKFUSE_WINDOW_MS")
    detect = DetectJob(kafka_bootstrap, prefix, home, [], port)
    os.environ.pop("SPARKFUSE_WINDOW_MS") if before is None else os.environ.update(SPARKFUSE_WINDOW_MS=before)
    try:
        detect.start()
        applications = Applications(kafka_bootstrap, prefix, output.seen)
        applications.begin()
        applications.go_on()
        applications.finish()
        applications.wait_until_ended()
        rows = len(output.seen.live)
        read = 'sparkfuse_records_read_total{component="detect",topic="live"}'
        wait_for(lambda: detect.metric(read) >= rows, FINDING_SECONDS, "detect to read all rows")
        # The application loses a fact in its last part, so this finding is the last one.
        lossy = ("collector_lossy", "orders", "application", "warning")
        wait_for(lambda: lossy in output.findings(), FINDING_SECONDS, "the findings of the mini cluster")
    finally:
        detect.close()
        windows.stop()
    output.findings()
    yield output
    output.close()


@contextlib.contextmanager
def bucket(build: Path, log: Path) -> Iterator[dict[str, str]]:
    """Run an S3-compatible server with a bucket, and yield the Flink options that store all state in the bucket."""
    [port] = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    command = [str(build / "envs" / "s3" / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_for(lambda: put(f"{address}/{BUCKET}"), FINDING_SECONDS, f"the bucket; see {log}")
        yield {
            "execution.checkpointing.dir": f"s3a://{BUCKET}/checkpoints",
            "high-availability.storageDir": f"s3a://{BUCKET}/ha",
            "fs.s3a.endpoint": address,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "test",
            "fs.s3a.secret.key": "test",
        }
        with urllib.request.urlopen(f"{address}/{BUCKET}?list-type=2", timeout=10) as answer:
            assert "_metadata" in answer.read().decode(), "no checkpoint is in the bucket"
    finally:
        server.terminate()
        server.wait(30)


def put(address: str) -> bool:
    """Send a PUT request without content, and return whether the server accepted it."""
    with contextlib.suppress(OSError):
        urllib.request.urlopen(urllib.request.Request(address, method="PUT"), timeout=5).close()
        return True
    return False


@pytest.fixture(scope="module", params=["shared folder", "S3"])
def actual(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, repository: Path, request: pytest.FixtureRequest
) -> Iterator[Output]:
    """Return the output of a cluster whose task manager and job manager were killed."""
    home, build = tmp_path_factory.mktemp("cluster"), repository / "build"
    with contextlib.ExitStack() as stack:
        options = stack.enter_context(bucket(build, home / "s3.log")) if request.param == "S3" else {}
        yield from run_with_kills(kafka_bootstrap, home, build, options)


def run_with_kills(kafka_bootstrap: str, home: Path, build: Path, options: Mapping[str, str]) -> Iterator[Output]:
    """Run both jobs on a cluster with these options, kill two of its processes, and yield the output."""
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    output = output_of(kafka_bootstrap, prefix)
    environment = {
        "SPARKFUSE_HOME": str(home / "unused"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    cluster = FlinkCluster(home, build / "flink-libs", options, build / "flink-plugins" if options else None)
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.tick_process"]
    with (home / "ticks.log").open("wb") as log:
        ticks = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        cluster.start()
        jobs = {module: cluster.submit(module, environment) for module in (WINDOWS, DETECT)}
        output.parallelism = {module: cluster.parallelism(job) for module, job in jobs.items()}
        output.addresses = {module: cluster.task_managers_of(job) for module, job in jobs.items()}
        applications = Applications(kafka_bootstrap, prefix, output.seen)
        applications.begin()
        for job in jobs.values():
            cluster.wait_for_checkpoint(job)
        cluster.kill("taskmanager-1")
        cluster.start_task_manager(1)
        applications.go_on()
        for job in jobs.values():
            cluster.wait_until_running(job)
            cluster.wait_for_checkpoint(job)
        output.restarts = {module: cluster.restarts(job) for module, job in jobs.items()}
        cluster.kill("jobmanager")
        applications.finish()
        cluster.start_job_manager()
        applications.wait_until_ended()
        for job in jobs.values():
            cluster.wait_until_running(job)
        # The job manager reads facts again from the last checkpoint, and detect counts their findings again.
        wait_for(lambda: "sparkfuse_live_rows_total" in cluster.metrics(), FINDING_SECONDS, "metrics of detect")
        output.metrics = cluster.metrics().splitlines()
        yield output
    finally:
        cluster.stop()
        ticks.terminate()
        ticks.wait(30)
        output.close()


def test_prometheus_reads_the_same_metrics_as_in_the_mini_cluster(actual: Output) -> None:
    """With the relabelling of prometheus.yml, Flink's reporter gives the series that the pipeline's alerts use."""
    [scrape, _] = yaml.safe_load(asset("sparkfuse_alertmanager", "prometheus.yml").read_text())["scrape_configs"]
    names, jobs = scrape["metric_relabel_configs"]
    found = set()
    for line in actual.metrics:
        series = re.fullmatch(r"([a-zA-Z_:]+)\{(.*)\} (\S+)", line)
        if series:
            job = re.fullmatch(f"{jobs['regex']}", (re.findall(r'job_name="([^"]*)"', series[2]) or [""])[0])
            name = re.fullmatch(names["regex"], series[1])
            found.add((f"sparkfuse_{name[1]}" if name else series[1], job[1] if job else ""))

    assert found >= {
        (metric_names.RECORDS_READ.name, "windows"),
        (metric_names.RECORDS_READ.name, "detect"),
        (metric_names.LIVE_ROWS.name, "detect"),
        (metric_names.WINDOW_DELAY.name, "windows"),
        (metric_names.WINDOW_DELAY.name, "detect"),
        (metric_names.COMPLETENESS.name, "windows"),
        *((f"flink_jobmanager_job_{name}", job) for name in OF_JOB_MANAGER for job in ("windows", "detect")),
        *(("flink_taskmanager_job_task_operator_pendingRecords", job) for job in ("windows", "detect")),
    }
    assert len(actual.metrics) < scrape["sample_limit"]


def sums(output: Output) -> dict[str, dict[str, float]]:
    """Return the sums over ended tasks in the last row of each stage."""
    found: dict[str, dict[str, float]] = {}
    for name in ("orders", "failures", *(app_id(case) for case in CASES)):
        stage = output.seen.of(name, "stage_live")[-1].stage
        fields = {each.name: value for each, value in stage.ListFields()}
        found[name] = {key: value for key, value in fields.items() if key.startswith("finished_")}
    return found


def test_both_jobs_run_in_parallel_on_both_task_managers(actual: Output) -> None:
    """Flink's configuration decides the parallelism, and the tasks of each job run on both task managers."""
    addresses = {"127.0.0.2", "127.0.0.3"}

    assert actual.addresses == {WINDOWS: addresses, DETECT: addresses}
    assert {module: max(found) for module, found in actual.parallelism.items()} == {WINDOWS: 2, DETECT: 2}


def test_replayed_rows_equal_the_rows_before_the_kill(actual: Output) -> None:
    """Rows with the same application and number have the same content, so readers can drop replayed rows."""
    rows = defaultdict(set)
    for row in actual.seen.live:
        if row.row_seq:
            rows[row.app_id, row.app_attempt, row.app_start_ms, row.row_seq].add(
                row.SerializeToString(deterministic=True)
            )

    assert rows
    assert {key: len(contents) for key, contents in rows.items() if len(contents) > 1} == {}


def test_kills_restart_both_jobs_and_double_no_sum(actual: Output, expected: Output) -> None:
    """After the kills, the sums of each stage are those of the run without a kill."""
    assert all(count >= 1 for count in actual.restarts.values())
    assert sums(actual) == sums(expected)


def test_cluster_finds_what_the_mini_cluster_finds(actual: Output, expected: Output) -> None:
    """Both kinds of cluster emit the same findings, although two processes of one of them were killed."""
    wanted = expected.findings()
    wait_for(lambda: actual.findings() >= wanted, FINDING_SECONDS, f"the findings {sorted(wanted)}")

    assert actual.findings() == wanted
    assert wanted
