"""Tests the detect job while one partition of the topic live is away, as after the loss of its leader."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.assets import asset
from sparkfuse_stream_jobs.ticks import murmur2
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.kafka import settings_of
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run

pytestmark = pytest.mark.timeout(900)
AWAY_SECONDS = 15
MINUTE_MS = 60_000


@pytest.fixture
def detect(kafka_bootstrap: str, topic_prefix: str, tmp_path: Path) -> Iterator[DetectJob]:
    """Yield the running detect job."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    shutil.copytree(asset("sparkfuse_rules", "catalog"), tmp_path / "catalog")
    [port] = free_ports(1)
    arguments = ["--catalog", str(tmp_path / "catalog"), "--resend-ms", "4000", "--min-firing-ms", "1000"]
    job = DetectJob(kafka_bootstrap, topic_prefix, tmp_path / "detect", arguments, port)
    try:
        job.start()
        yield job
    finally:
        job.close()


def test_finding_of_a_partition_that_is_away_does_not_resolve(detect: DetectJob) -> None:
    """While a partition is away, its findings keep firing, although the other partition advances by two minutes."""
    at = (time.time_ns() // 1_000_000 // WINDOW_MS) * WINDOW_MS
    names = (f"app-{number}" for number in range(100))
    waits, ends = (next(name for name in names if murmur2(name.encode()) % 2 == part) for part in (0, 1))
    stuck, other = Run(waits, at - 10 * MINUTE_MS, "stuck"), Run(ends, at - 10 * MINUTE_MS, "other")
    detect.send([stuck.started(at), stuck.stage_started(at), stuck.task(at, 70_000)])
    detect.pass_time(at)
    firing = detect.wait_for_finding("task_stuck", "stuck", lambda each: each.state == "firing", "the stuck task")
    away_until, step = time.monotonic() + AWAY_SECONDS, 0
    while time.monotonic() < away_until:
        step = min(step + 1, 24)
        detect.pass_time(at + step * WINDOW_MS, partitions=[1])
        detect.findings("task_stuck", "stuck")  # waits for records
    # The partition is back, with all of its rows in their order.
    detect.send([stuck.task(at + number * WINDOW_MS, 70_000 + number * WINDOW_MS) for number in range(1, 25)])
    detect.send([other.started(at), other.stage_started(at), other.task(at + 24 * WINDOW_MS, 70_000)])
    detect.wait_for_finding("task_stuck", "other", lambda each: each.state == "firing", "the other task")
    detect.pass_time(at + 30 * WINDOW_MS)
    resolved = detect.wait_for_finding("task_stuck", "stuck", lambda each: each.state == "resolved", "the end")
    states = [each.state for each in detect.findings("task_stuck", "stuck")]

    assert states == ["firing"] * (len(states) - 1) + ["resolved"]
    assert resolved.started_ms == firing.started_ms
    assert resolved.resolved_ms > at + 24 * WINDOW_MS
