"""Tests that a start that cannot succeed fails immediately, with one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.kafka_access import KafkaUnavailableError, require_access
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.environment import jars
from sparkfuse_stream_jobs.errors import MissingPartError


@pytest.fixture
def settings(kafka_bootstrap: str, topic_prefix: str) -> Settings:
    return replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)


def test_valid_topics_return_their_partitions(settings: Settings) -> None:
    """If the topics are as the contract defines them, the check returns their partitions."""
    ensure_topics(settings)
    found = require_access(settings, "windows")

    assert {name: topic.partitions for name, topic in found.items()} == {
        "facts": (0, 1), "live": (0, 1), "dead-letters": (0,),
    }  # fmt: skip


def test_missing_topics_are_named(settings: Settings) -> None:
    """The error for missing topics names each of them and how to create it."""
    with pytest.raises(KafkaUnavailableError) as raised:
        require_access(settings, "sender")

    prefix = settings.topic_prefix
    missing = ", ".join(f"{prefix}.{name}" for name in ("findings", "feedback", "pages", "dead-letters"))
    assert f"no topic {missing}: `sparkfuse up`" in str(raised.value)


def test_topic_with_create_time_is_rejected(settings: Settings) -> None:
    """A topic with CreateTime is rejected, and the error has the command that fixes it.

    With the sender's time, facts of a host whose clock is slow would be lost.
    """
    full = f"{settings.topic_prefix}.facts"
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    admin.create_topics([NewTopic(full, 1, config={"message.timestamp.type": "CreateTime"})])[full].result(60)
    for name in ("live", "dead-letters"):
        topic = f"{settings.topic_prefix}.{name}"
        admin.create_topics([NewTopic(topic, 1)])[topic].result(60)

    with pytest.raises(KafkaUnavailableError) as raised:
        require_access(settings, "windows")

    assert f"topic {full} has message.timestamp.type=CreateTime" in str(raised.value)
    assert "--add-config message.timestamp.type=LogAppendTime" in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value", "exit_code", "message"),
    [
        ("SPARKFUSE_KAFKA_BOOTSTRAP", "127.0.0.1:{free}", 3, "no Kafka broker answers at 127.0.0.1:{free}"),
        ("SPARKFUSE_WINDOW_MS", "soon", 2, "SPARKFUSE_WINDOW_MS='soon' is invalid"),
    ],
)
def test_failed_start_prints_one_sentence(
    key: str, value: str, exit_code: int, message: str, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """A failed start prints one sentence and no traceback.

    The exit code is 3 if something that the job needs is not available, and 2 for a wrong setting.
    """
    free = str(free_port())
    environment = {**os.environ, "SPARKFUSE_HOME": str(tmp_path), key: value.replace("{free}", free)}
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.windows"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert finished.returncode == exit_code
    assert finished.stderr.startswith(f"sparkfuse windows: {message.replace('{free}', free)}")
    assert len(finished.stderr.splitlines()) == 1


def test_missing_jars_fail_before_the_jvm_starts(tmp_path: Path) -> None:
    """If the connectors are missing, the error names their folder and the command that fills it."""
    with pytest.raises(MissingPartError, match=r"no Flink connectors in .*make setup"):
        jars(tmp_path)
