"""Fixtures that run real Spark with the plugin and a real broker, with separate topics for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import Facts, SparkRun, create_topics
from tests.integration.collectors.stoppable_broker import StoppableBroker

JOBS = Path(__file__).parent / "jobs"


@pytest.fixture
def topics(kafka_bootstrap: str, topic_prefix: str) -> str:
    """Create topics and return their prefix."""
    create_topics(kafka_bootstrap, topic_prefix)
    return topic_prefix


@pytest.fixture
def facts(kafka_bootstrap: str, topics: str) -> Iterator[Facts]:
    found = Facts(kafka_bootstrap, topics)
    yield found
    found.close()


@pytest.fixture
def run_job(tmp_path: Path) -> Iterator[Callable[..., SparkRun]]:
    """Return a function that starts a script of `jobs/`; the script is stopped at the end of the test."""
    runs: list[SparkRun] = []

    def start(version: str, script: str, bootstrap: str, prefix: str, **settings: str) -> SparkRun:
        addresses = {"spark.sparkfuse.kafka.bootstrap": bootstrap, "spark.sparkfuse.topic.prefix": prefix}
        more = {key.replace("__", "."): value for key, value in settings.items()}
        runs.append(SparkRun(version, JOBS / script, addresses | more, tmp_path / f"job-{len(runs)}.log"))
        return runs[-1]

    yield start
    for run in runs:
        run.stop()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[StoppableBroker]:
    own = StoppableBroker(tmp_path / "kafka")
    own.start()
    yield own
    own.stop()
