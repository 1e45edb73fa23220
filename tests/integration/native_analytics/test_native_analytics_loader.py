"""Tests the loader between a real broker and the real ClickHouse engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client
from confluent_kafka import Producer

from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from tests.waiting import wait_for

FACTS = 100_000
AHEAD = 50_000
JUNK = 25
TICKS = 200
COUNTS = """
SELECT count() AS rows, uniqExact(event_id) AS facts, uniqExact(kafka_partition, kafka_offset) AS places,
       sum(task_ended_run_ms) AS run_ms
FROM facts
"""
SET_ASIDE = "SELECT uniqExact(origin_kafka_partition, origin_kafka_offset) FROM dead_letters"


def fact(number: int) -> bytes:
    """Return the end of a task; ``number`` is its event id and its run time, whose sum tests compare."""
    message = Fact(event_id=number.to_bytes(16, "big"), event_time_ms=1_700_000_000_000 + number, cluster="test",
                   app_id=f"app-{number % 7}", app_start_ms=1_700_000_000_000, collector="driver-1", lane="bulk",
                   seq=number)  # fmt: skip
    message.task_ended.stage_id = 1
    message.task_ended.task_id = number
    message.task_ended.run_ms = number
    return message.SerializeToString()


def tick() -> bytes:
    """Return a tick of the pipeline's clock; the loader does not store ticks."""
    message = Fact(app_id="clock-0", collector="clock")
    message.tick.sent_ms = 1
    return message.SerializeToString()


def produce(topics: tuple[str, str], numbers: range, junk: int = 0, ticks: int = 0) -> None:
    """Send facts with these numbers to the topic facts, with invalid records and ticks among them."""
    producer = Producer({"bootstrap.servers": topics[0], "partitioner": "murmur2_random", "linger.ms": 20,
                         "queue.buffering.max.messages": 1_000_000})  # fmt: skip
    topic = f"{topics[1]}.facts"
    others = [b"\xff\xffjunk"] * junk + [tick()] * ticks
    every = max(1, len(numbers) // max(1, len(others)))
    for number in numbers:
        producer.produce(topic, fact(number), key=f"app-{number % 7}")
        if others and number % every == 0:
            producer.produce(topic, others.pop(), key=f"app-{number % 7}")
    for other in others:
        producer.produce(topic, other)
    assert producer.flush(60) == 0


def stored(client: Client) -> int:
    """Return the number of rows in the table facts, with a query that is cheap enough to repeat often."""
    return int(str(client.command("SELECT count() FROM facts")))


def counts(client: Client) -> dict[str, Any]:
    """Return the contents of the table facts without removing duplicates, so that a duplicate row is visible."""
    return dict(client.query(COUNTS).first_item)


def expected(number: int) -> dict[str, int]:
    """Return the contents of the table facts if each of the first ``number`` facts is stored once."""
    return {"rows": number, "facts": number, "places": number, "run_ms": number * (number - 1) // 2}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.long)])
def test_kills_neither_lose_nor_duplicate_rows(
    topics: tuple[str, str], settings: Settings, client: Client, make_loader: Callable[[str], Any], tmp_path: Path,
    kills: int,
) -> None:  # fmt: skip
    """A loader that is killed often while it loads 100,000 facts stores each fact once.

    Each invalid record becomes a dead letter.
    """
    produce(topics, range(FACTS), JUNK, TICKS)
    produced = FACTS

    def stored_with_more_to_come() -> int:
        """Send more facts than the loader can have read, so that it is killed while it works.

        Return the number of stored facts.
        """
        nonlocal produced
        count = stored(client)
        if produced - count < AHEAD:
            produce(topics, range(produced, produced + AHEAD))
            produced += AHEAD
        return count

    loader = make_loader(settings.clickhouse_url)
    for _ in range(kills):
        seen = stored(client)
        loader.start()
        # Each kill happens a little later and at another step.
        wait_for(
            lambda before=seen: stored_with_more_to_come() > before or loader.process.poll() is not None, 90, "progress"
        )
        loader.kill()
        assert stored(client) < produced, "a kill found nothing to do"
    loader.start()
    wait_for(lambda: stored(client) >= produced, 180, "all facts")
    wait_for(lambda: client.command(SET_ASIDE) == JUNK, 90, "all dead letters")

    assert counts(client) == expected(produced)
    assert client.query("SELECT DISTINCT component, reason FROM dead_letters").result_rows == [
        ("loader", "not a Fact: a field has an unknown wire type")
    ]
    assert client.query("SELECT app_id FROM facts WHERE kind = 'tick'").result_rows == []
    assert loader.stop() == 0
    assert "Traceback" not in (tmp_path / "loader.log").read_text()


@pytest.mark.timeout(600)
def test_loader_waits_for_an_unavailable_store(
    topics: tuple[str, str], make_store: Callable[[], Any], make_loader: Callable[[str], Any], tmp_path: Path
) -> None:
    """While the store is down, the loader keeps running, and later stores each fact once.

    The loader can be stopped even while the store is down.
    """
    store, url = make_store()
    loader = make_loader(url)
    loader.start()
    produce(topics, range(1000))
    connected = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": url}))
    wait_for(lambda: connected.command("EXISTS TABLE facts") == 1, 90, "the tables")
    wait_for(lambda: stored(connected) == 1000, 90, "the first facts")
    store.kill()
    produce(topics, range(1000, 20_000))
    rejects = "the store rejects inserts into table facts, retrying"
    wait_for(lambda: rejects in (tmp_path / "loader.log").read_text(), 90, "the loader to notice")
    store.start()
    accepts = "the store accepts inserts into table facts again"
    wait_for(lambda: accepts in (tmp_path / "loader.log").read_text(), 60, "the loader to notice")
    wait_for(lambda: stored(connected) >= 20_000, 90, "all facts")

    assert loader.process.poll() is None
    assert counts(connected) == expected(20_000)
    store.kill()
    produce(topics, range(20_000, 20_100))
    assert loader.stop() == 0


@pytest.mark.parametrize(
    ("variable", "value", "code", "sentence"),
    [
        ("SPARKFUSE_KAFKA_BOOTSTRAP", "127.0.0.1:1", 3, "no Kafka broker answers at 127.0.0.1:1"),
        ("SPARKFUSE_CLICKHOUSE_URL", "http://127.0.0.1:1", 3, "no ClickHouse answers at http://127.0.0.1:1"),
        ("SPARKFUSE_TOPIC_PREFIX", "nobody", 3, "has no topic nobody."),
        ("SPARKFUSE_METRICS_PORT", "seven", 2, "SPARKFUSE_METRICS_PORT='seven' is invalid"),
    ],
)
def test_missing_dependency_at_start_is_one_sentence(
    settings: Settings, make_loader: Callable[[str], Any], tmp_path: Path, variable: str, value: str, code: int,
    sentence: str,
) -> None:  # fmt: skip
    """A loader that cannot start prints the reason in one sentence, without a traceback.

    The exit code shows the kind of the reason.
    """
    loader = make_loader(settings.clickhouse_url)
    loader.environment[variable] = value
    loader.start()

    assert loader.process.wait(150) == code
    said = (tmp_path / "loader.log").read_text()
    assert sentence in said
    assert "Traceback" not in said
