"""Tests `sparkfuse doctor` on a real broker; tests/e2e runs it on a whole stack."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from typer.testing import CliRunner

from sparkfuse.commands.application import application
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.wire import to_json
from tests.kafka import settings_of

MINUTE_MS = 60_000


def doctor(bootstrap: str, prefix: str, home: Path, port: int, **more: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Run the command; return its exit code, and the state and the sentence of each check."""
    nothing = f"http://127.0.0.1:{port}"
    environment = {
        "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_CLICKHOUSE_URL": nothing,
        "SPARKFUSE_ALERTMANAGER_URLS": nothing,
        **more,
    }
    done = CliRunner(env=environment).invoke(application, ["doctor", "--json", "--home", str(home)])
    return done.exit_code, {each["name"]: (each["state"], each["found"]) for each in json.loads(done.stdout)}


def test_stopped_parts_are_named(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """The checks name a windows job that sends no ticks, a sender that lags, dead letters, and missing servers."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    producer, now_ms = Producer({"bootstrap.servers": kafka_bootstrap}), time.time_ns() // 1_000_000
    producer.produce(f"{topic_prefix}.facts", b"tick", partition=0)
    producer.produce(f"{topic_prefix}.findings", b"finding", timestamp=now_ms - 10 * MINUTE_MS)
    letter = DeadLetter(component="windows", topic=f"{topic_prefix}.facts", reason="not a fact", seen_ms=now_ms)
    producer.produce(f"{topic_prefix}.dead-letters", to_json(letter))
    assert producer.flush(60) == 0
    code, checks = doctor(kafka_bootstrap, topic_prefix, tmp_path, free_port())

    assert code == 1
    assert checks["Kafka"][0] == "ok"
    assert checks["ticks"] == ("failed", "no tick for 30 s in partitions 1 of facts")
    assert checks["windows job"][0] == "ok", "its only unread fact is a moment old"
    assert checks["detect job"] == ("ok", "it has read live to the end")
    assert checks["sender"] == ("failed", "it is 10 min behind in findings, so no new alert is sent")
    assert checks["dead letters"] == ("warning", "1 in the last hour; the newest of windows: not a fact")
    assert {checks["store"][0], checks["Alertmanager"][0]} == {"failed"}
    assert checks["disk"][0] == "ok"


def test_missing_broker_and_missing_topics_are_named(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """Without a broker or without topics, the other parts are still checked."""
    nowhere = free_port()
    code, without_broker = doctor(f"127.0.0.1:{nowhere}", topic_prefix, tmp_path, nowhere)
    _, without_topics = doctor(kafka_bootstrap, topic_prefix, tmp_path, nowhere)

    assert code == 1
    assert without_broker["Kafka"][0] == "failed"
    assert f"127.0.0.1:{nowhere}" in without_broker["Kafka"][1]
    assert "store" in without_broker
    assert without_topics["Kafka"][0] == "failed"
    assert f"topics are missing: {topic_prefix}.facts" in without_topics["Kafka"][1]


def test_each_source_is_checked(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """The checks name a source whose cluster is away and a source whose jobs do not run."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    nowhere = f"127.0.0.1:{free_port()}"
    for name, bootstrap in (("eu", kafka_bootstrap), ("us", nowhere)):
        (tmp_path / f"{name}.properties").write_text(f"bootstrap.servers={bootstrap}\n")
    sources = ",".join(f"{name}={tmp_path}/{name}.properties" for name in ("eu", "us"))
    code, checks = doctor(kafka_bootstrap, topic_prefix, tmp_path, free_port(), SPARKFUSE_SOURCES=sources)

    assert code == 1
    assert checks["Kafka of source eu"] == ("ok", f"{kafka_bootstrap} has the topic facts with its settings")
    assert checks["ticks of source eu"] == ("failed", "no tick for 30 s in partitions 0, 1 of facts")
    assert checks["windows job of source eu"] == ("ok", "it has read facts to the end")
    assert checks["detect job of source eu"] == ("ok", "it has read live to the end")
    assert checks["Kafka of source us"][0] == "failed"
    assert (
        f"no Kafka broker answers at {nowhere}: is bootstrap.servers in {tmp_path}/us"
        in checks["Kafka of source us"][1]
    )
    assert "windows job of source us" not in checks
