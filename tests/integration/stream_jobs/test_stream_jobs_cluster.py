"""Runs both jobs on standalone Flink clusters at parallelism 2, and compares their output with the mini cluster's.

The clusters are a session cluster with its state in a shared folder, a session cluster with its state on an
S3-compatible server, and two clusters in application mode with the options, arguments and variables of the Kubernetes
manifests of the environment `production`. While the applications run, one task manager and then the job manager of each
cluster are killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.layout import free_ports
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.topics import topics
from tests.flink_application import ApplicationCluster, deployments
from tests.flink_cluster import FlinkCluster
from tests.integration.stream_jobs.cluster_output import Applications, Output, Recovery, output_of, sums
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.s3_server import s3_server
from tests.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]
WINDOWS, DETECT = "sparkfuse_stream_jobs.windows", "sparkfuse_stream_jobs.detect"
WINDOW_MS = 1000
BUCKET = "sparkfuse-production"
OF_JOB_MANAGER = ("numRestarts", "numberOfCompletedCheckpoints")
FINDING_SECONDS = 120
# A machine that fails needs longer for a restart than three restarts of a job.
AWAY_SECONDS = 20
# The cluster and the job id of each module.
Jobs = dict[str, tuple[FlinkCluster, str]]


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


@pytest.fixture(scope="module", params=["session, shared folder", "session, S3", "application mode, S3"])
def actual(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, repository: Path, request: pytest.FixtureRequest
) -> Iterator[Output]:
    """Return the output of jobs whose task manager and job manager were killed."""
    home, build = tmp_path_factory.mktemp("cluster"), repository / "build"
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    output = output_of(kafka_bootstrap, prefix)
    environment = {
        "SPARKFUSE_HOME": str(home / "unused"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    with contextlib.ExitStack() as stack:
        stack.callback(output.close)
        s3 = stack.enter_context(s3_server(build, home / "s3.log", BUCKET)) if "S3" in request.param else {}
        clusters = application_clusters if "application" in request.param else session_cluster
        run_with_kills(stack.enter_context(clusters(home, build, environment, s3)), kafka_bootstrap, prefix, output)
        output.home = Path(environment["SPARKFUSE_HOME"])
        yield output


@contextlib.contextmanager
def session_cluster(home: Path, build: Path, environment: dict[str, str], s3: Mapping[str, str]) -> Iterator[Jobs]:
    """Submit both jobs to a session cluster as a user does, and send ticks."""
    folders = {
        "execution.checkpointing.dir": f"s3a://{BUCKET}/checkpoints",
        "high-availability.storageDir": f"s3a://{BUCKET}/ha",
    }
    options, plugins = ({**s3, **folders}, build / "flink-plugins") if s3 else ({}, None)
    cluster = FlinkCluster(home / "session", build / "flink-libs", options, plugins)
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.tick_process"]
    with (home / "ticks.log").open("wb") as log:
        ticks = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        cluster.start()
        yield {module: (cluster, cluster.submit(module, environment)) for module in (WINDOWS, DETECT)}
    finally:
        cluster.stop()
        ticks.terminate()
        ticks.wait(30)


@contextlib.contextmanager
def application_clusters(home: Path, build: Path, environment: dict[str, str], s3: Mapping[str, str]) -> Iterator[Jobs]:
    """Run each job in application mode, as the Kubernetes manifests of the environment `production` describe it."""
    jobs: Jobs = {}
    with contextlib.ExitStack() as stack:
        for each in deployments("production"):
            folder, libs, plugins = home / each.name, build / "flink-libs", build / "flink-plugins"
            cluster = ApplicationCluster(folder, libs, each, environment, s3, plugins)
            stack.callback(cluster.stop)
            cluster.start()
            jobs[each.module] = cluster, cluster.job
        for running, job in jobs.values():
            running.wait_until_running(job)
        yield jobs


def run_with_kills(jobs: Jobs, kafka_bootstrap: str, prefix: str, output: Output) -> None:
    """Send the facts of the applications, and kill a task manager and the job manager of each cluster in between."""
    clusters = {id(cluster): cluster for cluster, _ in jobs.values()}.values()
    output.parallelism = {module: cluster.parallelism(job) for module, (cluster, job) in jobs.items()}
    output.addresses = {module: cluster.task_managers_of(job) for module, (cluster, job) in jobs.items()}
    applications = Applications(kafka_bootstrap, prefix, output.seen)
    applications.begin()
    for cluster, job in jobs.values():
        cluster.wait_for_checkpoint(job)
    for cluster in clusters:
        cluster.kill("taskmanager-1")
    wait_for_ticks(kafka_bootstrap, prefix, AWAY_SECONDS)
    for cluster in clusters:
        cluster.start_task_manager(1)
    applications.go_on()
    for cluster, job in jobs.values():
        cluster.wait_until_running(job)
        cluster.wait_for_checkpoint(job)
    output.restarts = {module: cluster.restarts(job) for module, (cluster, job) in jobs.items()}
    newest = {module: cluster.newest_checkpoint(job) for module, (cluster, job) in jobs.items()}
    for cluster in clusters:
        cluster.kill("jobmanager")
    applications.finish()
    for cluster in clusters:
        cluster.start_job_manager()
    applications.wait_until_ended()
    for module, (cluster, job) in jobs.items():
        cluster.wait_until_running(job)
        output.recovered[module] = Recovery(newest[module], cluster.restored_checkpoint(job), job, cluster.jobs())
    # The job manager reads facts again from the last checkpoint, and detect counts their findings again.
    detect = jobs[DETECT][0]
    wait_for(lambda: "sparkfuse_live_rows_total" in detect.metrics(), FINDING_SECONDS, "metrics of detect")
    output.metrics = [line for cluster in clusters for line in cluster.metrics().splitlines()]


def wait_for_ticks(kafka_bootstrap: str, prefix: str, seconds: int) -> None:
    """Wait until each partition of the topic facts received a tick in each of this number of seconds."""
    consumer = Consumer({"bootstrap.servers": kafka_bootstrap, "group.id": f"{prefix}.ticks"})

    def records() -> list[int]:
        parts = [TopicPartition(f"{prefix}.facts", number) for number in range(topics()["facts"].partitions)]
        return [consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts]

    before = records()
    wait_for(
        lambda: all(now - then >= seconds for then, now in zip(before, records(), strict=True)), 10 * seconds, "ticks"
    )
    consumer.close()


def test_prometheus_reads_the_same_metrics_as_in_the_mini_cluster(actual: Output) -> None:
    """With the relabelling of prometheus.yml, Flink's reporter gives the series that the pipeline's alerts use."""
    [scrape, *_] = yaml.safe_load(asset("sparkfuse_alertmanager", "prometheus.yml").read_text())["scrape_configs"]
    names, jobs, *_ = scrape["metric_relabel_configs"]
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


def test_programs_write_no_files(actual: Output) -> None:
    """On a cluster, the state and the files of the jobs are where Flink's configuration says."""
    assert actual.home is not None
    assert not actual.home.exists()


def test_both_jobs_run_in_parallel_on_both_task_managers(actual: Output) -> None:
    """Flink's configuration decides the parallelism, no step is serial, and each job uses both task managers."""
    addresses = {"127.0.0.2", "127.0.0.3"}

    assert actual.addresses == {WINDOWS: addresses, DETECT: addresses}
    assert actual.parallelism == {WINDOWS: {2}, DETECT: {2}}


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


def test_jobs_continue_from_their_newest_checkpoint(actual: Output) -> None:
    """The new job manager finds each job under the same id, and restores its newest checkpoint."""
    for recovery in actual.recovered.values():
        assert recovery.job in recovery.jobs
        assert recovery.restored >= recovery.newest_before

    assert {len(recovery.jobs) for recovery in actual.recovered.values()} <= {1, 2}


def test_cluster_finds_what_the_mini_cluster_finds(actual: Output, expected: Output) -> None:
    """Both kinds of cluster emit the same findings, although two processes of one of them were killed."""
    wanted = expected.findings()
    wait_for(lambda: actual.findings() >= wanted, FINDING_SECONDS, f"the findings {sorted(wanted)}")

    assert actual.findings() == wanted
    assert wanted
