"""What stands in the way of a start is said in one sentence, before anything runs."""

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
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.environment import jars
from sparkfuse_stream_jobs.errors import MissingPartError
from sparkfuse_stream_jobs.topic_check import check_topics


@pytest.fixture
def settings(kafka_bootstrap: str, topic_prefix: str) -> Settings:
    return replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)


def test_good_topics_pass_with_their_partitions(settings: Settings) -> None:
    """Topics as the contract wants them are let through."""
    ensure_topics(settings.kafka_bootstrap, settings.topic_prefix)

    assert check_topics(settings, ["facts", "live", "dead-letters"]) == {"facts": 2, "live": 2, "dead-letters": 1}


def test_a_missing_topic_is_named(settings: Settings) -> None:
    """The sentence names each topic that is not there, and how it comes into being."""
    with pytest.raises(MissingPartError) as refused:
        check_topics(settings, ["facts", "live"])

    assert f"no topic {settings.topic_prefix}.facts, {settings.topic_prefix}.live: `sparkfuse up`" in str(refused.value)


def test_a_topic_with_the_senders_clock_is_refused(settings: Settings) -> None:
    """Windows on the sender's time would lose all facts of a clock that is late: the start fails and says the cure."""
    full = f"{settings.topic_prefix}.facts"
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    admin.create_topics([NewTopic(full, 1, config={"message.timestamp.type": "CreateTime"})])[full].result(60)

    with pytest.raises(MissingPartError) as refused:
        check_topics(settings, ["facts"])

    assert f"topic {full} has message.timestamp.type=CreateTime" in str(refused.value)
    assert "--add-config message.timestamp.type=LogAppendTime" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "exit_code", "said"),
    [
        ("SPARKFUSE_KAFKA_BOOTSTRAP", "127.0.0.1:{free}", 3, "Kafka at 127.0.0.1:{free} does not answer"),
        ("SPARKFUSE_WINDOW_MS", "soon", 2, "SPARKFUSE_WINDOW_MS='soon' cannot be used"),
    ],
)
def test_the_process_says_one_sentence_and_leaves(
    key: str, value: str, exit_code: int, said: str, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """A part that is missing ends it with 3, a wrong setting with 2; there is no traceback."""
    free = str(free_port())
    environment = {**os.environ, "SPARKFUSE_HOME": str(tmp_path), key: value.replace("{free}", free)}
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.windows"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == exit_code
    assert ended.stderr.startswith(f"sparkfuse windows: {said.replace('{free}', free)}")
    assert len(ended.stderr.splitlines()) == 1


def test_missing_jars_are_said_before_a_jvm_starts(tmp_path: Path) -> None:
    """A folder without connectors is named, with the way to fill it."""
    with pytest.raises(MissingPartError, match=r"no Flink connectors in .*make setup"):
        jars(tmp_path)
