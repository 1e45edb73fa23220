"""Tests the shipper with a real broker: each fact is sent exactly once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.broker import Broker
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import from_json
from tests.integration.collectors.shipping import LOGS, Committed, Shipping, Template, create_all_topics, holes, kinds
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
KILLS = 6
APPLICATIONS = 12
WAIT_SECONDS = 90


@pytest.fixture
def prefix(kafka_bootstrap: str, topic_prefix: str) -> str:
    """Return the prefix of existing topics."""
    create_all_topics(kafka_bootstrap, topic_prefix)
    return topic_prefix


@pytest.fixture
def facts(kafka_bootstrap: str, prefix: str) -> Iterator[Committed]:
    found = Committed(kafka_bootstrap, f"{prefix}.facts")
    yield found
    found.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "logs"
    found.mkdir()
    return found


def test_ships_a_folder_of_real_logs(
    kafka_bootstrap: str, prefix: str, facts: Committed, folder: Path, tmp_path: Path
) -> None:
    """Each fact of a folder of real logs is committed once, with sequence numbers without gaps.

    A second start of the shipper sends nothing.
    """
    template = Template(LOGS / "runs" / "healthy-1.zstd")
    lines = template.lines("app-1", 1_795_000_000_000)
    (folder / "app-1").write_bytes(b"".join(lines))
    shipping = Shipping(kafka_bootstrap, prefix, tmp_path, str(folder), "--once")
    shipping.start()

    assert shipping.ended() == (0, "")
    found = facts.facts()
    counts = kinds(found)
    assert counts["task_ended"] == sum(b'"SparkListenerTaskEnd"' in line for line in lines)
    assert counts["task_started"] == counts["task_ended"]
    assert counts["application_started"] == counts["application_ended"] == 1
    assert holes(facts.all()) == {}
    before = len(facts.values)
    shipping.start()

    assert shipping.ended()[0] == 0
    assert len(facts.read()) == before


def test_kills_lose_and_duplicate_no_fact(
    kafka_bootstrap: str, prefix: str, facts: Committed, folder: Path, tmp_path: Path
) -> None:
    """After many kills while logs grow, each fact is committed once and each log is read to its end."""
    template = Template(LOGS / "runs" / "healthy-1.zstd")
    logs = {
        f"app-{number}": template.lines(f"app-{number}", 1_795_000_000_000 + number) for number in range(APPLICATIONS)
    }
    shipping = Shipping(kafka_bootstrap, prefix, tmp_path, str(folder), "--look", "0.05")
    chance = random.Random(5)
    shipping.start()
    for turn in range(KILLS):
        seen = len(facts.read())
        for name, lines in logs.items():
            share = len(lines) // KILLS
            until = None if turn == KILLS - 1 else share * (turn + 1)
            with (folder / f"{name}.inprogress").open("ab") as log:
                log.write(b"".join(lines[share * turn : until]))
        # Kill the shipper at a random moment after it has sent facts since this start.
        starts = turn + 1
        wait_for(lambda starts=starts: followed(shipping) >= starts, WAIT_SECONDS, "the start of this turn")
        wait_for(lambda seen=seen: len(facts.read()) > seen, WAIT_SECONDS, "facts of this turn")
        until_kill = time.monotonic() + chance.random() * 0.3
        wait_for(lambda until=until_kill: time.monotonic() > until, 60, "the next kill")
        shipping.kill()
        shipping.start()
    for name in logs:
        (folder / f"{name}.inprogress").rename(folder / name)
    done = {str(folder / name): "done" for name in logs}
    wait_for(lambda: _states(kafka_bootstrap, prefix) == done, WAIT_SECONDS, "the ends of all logs")

    wait_for(lambda: followed(shipping) > KILLS, WAIT_SECONDS, "the last start")

    assert shipping.stop() == 0
    found = facts.facts()
    tasks = sum(b'"SparkListenerTaskEnd"' in line for line in logs["app-0"])
    assert kinds(found)["task_ended"] == tasks * APPLICATIONS
    assert len({fact.event_id for fact in found}) == len(found)
    assert holes(facts.all()) == {}


def test_later_shipper_fences_the_earlier_one(kafka_bootstrap: str, prefix: str, folder: Path, tmp_path: Path) -> None:
    """If two shippers have the same name, the one that started first exits with code 4 and one sentence."""
    (folder / "app-1.inprogress").write_bytes(b"".join(Template(LOGS / "runs" / "healthy-1.zstd").lines("a", 1)[:20]))
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Shipping(kafka_bootstrap, prefix, tmp_path / "first", str(folder), "--look", "0.05")
    second = Shipping(kafka_bootstrap, prefix, tmp_path / "second", str(folder), "--look", "0.05")
    first.start()
    done = {str(folder / "app-1"): "live"}
    wait_for(lambda: _states(kafka_bootstrap, prefix) == done, WAIT_SECONDS, "the first one's position")
    second.start()
    wait_for(lambda: "following" in second.log.read_text(), WAIT_SECONDS, "the second one")

    def fenced() -> bool:
        with (folder / "app-1.inprogress").open("ab") as log:
            log.write(b'{"Event":"SparkListenerJobEnd"}\n')
        return first.process is not None and first.process.poll() is not None

    wait_for(fenced, WAIT_SECONDS, "the end of the first one")

    assert first.ended()[0] == 4
    assert "another shipper with this name has started" in first.log.read_text()
    assert second.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["/no/such/folder"], 3, "there is no such folder"),
        ([".", "--name", "a b"], 2, "--name 'a b' must have at most 100 letters"),
        ([".", "--cluster", "a|b"], 2, "--cluster 'a|b' must have 1 to 200"),
    ],
    ids=["folder", "name", "cluster"],
)
def test_invalid_start_prints_one_sentence(
    kafka_bootstrap: str, prefix: str, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    """If the start fails, the process exits before it sends a record, without a stack trace."""
    shipping = Shipping(kafka_bootstrap, prefix, tmp_path, *arguments)
    shipping.start()

    assert shipping.ended()[0] == code
    output = shipping.log.read_text()
    assert sentence in output
    assert "Traceback" not in output


def test_rejected_records_become_dead_letters(kafka_bootstrap: str, prefix: str) -> None:
    """Only records that are too large for the topic become dead letters.

    Other records of the same batch are sent.
    """
    topic = ConfigResource(ResourceType.TOPIC, f"{prefix}.history")
    topic.add_incremental_config(ConfigEntry("max.message.bytes", "99999", incremental_operation=AlterConfigOpType.SET))
    administrator = AdminClient({"bootstrap.servers": kafka_bootstrap})
    for done in administrator.incremental_alter_configs([topic]).values():
        done.result(30)
    # The broker applies the setting after it has answered.
    wait_for(lambda: _setting(administrator, topic, "max.message.bytes") == "99999", WAIT_SECONDS, "the setting")
    chance = random.Random(7)
    small = [chance.randbytes(40) for _ in range(3000)]
    large = [chance.randbytes(300_000) for _ in range(2)]
    batch = Batch()
    for row in (*small[:2000], large[0], *small[2000:2100], large[1], *small[2100:]):
        batch.add("history", b"app", row)
    batch.add("facts", b"app", b"fact")
    batch.add("positions", b"log", b"position")
    rejected: list[int] = []
    settings = settings_of(kafka_bootstrap, prefix)
    broker = Broker(settings, "test", threading.Event(), lambda _error: None, lambda: rejected.append(1))
    try:
        broker.start()
        broker.send(batch)
    finally:
        broker.close()

    assert _values(kafka_bootstrap, f"{prefix}.history") == small
    assert _values(kafka_bootstrap, f"{prefix}.facts") == [b"fact"]
    assert _values(kafka_bootstrap, f"{prefix}.positions") == [b"position"]
    letters = [from_json(DeadLetter, value) for value in _values(kafka_bootstrap, f"{prefix}.dead-letters")]
    assert [letter.payload for letter in letters] == [each[:DEAD_LETTER_PAYLOAD_BYTES] for each in large]
    assert rejected == [1, 1]


def _values(bootstrap: str, topic: str) -> list[bytes]:
    committed = Committed(bootstrap, topic)
    try:
        return [value for value in committed.read() if value is not None]
    finally:
        committed.close()


def _setting(administrator: AdminClient, topic: ConfigResource, name: str) -> str:
    described = administrator.describe_configs([ConfigResource(ResourceType.TOPIC, topic.name)])
    (settings,) = (done.result(30) for done in described.values())
    return str(settings[name].value)


def followed(shipping: Shipping) -> int:
    """Return how often the shipper was started and began to follow the folder."""
    return shipping.log.read_text().count("following")


def _states(bootstrap: str, prefix: str) -> dict[str, str]:
    positions = Committed(bootstrap, f"{prefix}.positions")
    try:
        read = [from_json(Position, value) for value in positions.read() if value]
    finally:
        positions.close()
    return {position.log: position.state for position in read}
