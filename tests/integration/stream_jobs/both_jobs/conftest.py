"""Fixtures of tests that share one windows job and one detect job; each test has applications of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from tests.integration.stream_jobs.conftest import RunningJob
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of

WINDOW_MS = 1_000


@pytest.fixture(scope="package")
def prefix(kafka_bootstrap: str) -> str:
    """Return the prefix of the topics of both jobs."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    ensure_topics(settings_of(kafka_bootstrap, name))
    return name


@pytest.fixture(scope="package")
def detect(kafka_bootstrap: str, prefix: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DetectJob]:
    """Start both jobs, and yield the detect job."""
    home = tmp_path_factory.mktemp("jobs")
    environment = {
        "SPARKFUSE_HOME": str(home / "windows"),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    (home / "windows").mkdir()
    windows = RunningJob("sparkfuse_stream_jobs.windows", environment, home / "windows.log")
    [port] = free_ports(1)
    job = DetectJob(kafka_bootstrap, prefix, home / "detect", ["--min-firing-ms", "1000"], port)
    try:
        job.start()
        windows.wait_until_running()
        yield job
    finally:
        job.close()
        if windows.exit_code() is None:
            windows.stop()


@pytest.fixture(scope="package")
def seen(kafka_bootstrap: str, prefix: str) -> Iterator[Seen]:
    """Return a reader of the rows of the windows job."""
    reader = Seen(kafka_bootstrap, prefix)
    yield reader
    reader.close()
