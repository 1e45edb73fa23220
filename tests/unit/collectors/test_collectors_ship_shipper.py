"""Tests the shipper's loop with a recording broker: the records of each transaction and the requests for history."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from sparkfuse_collectors.logs.files import LocalFiles
from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.folders import SCANS_UNTIL_MISSING
from sparkfuse_collectors.ship.metrics import ShipMetrics
from sparkfuse_collectors.ship.shipper import ShippingLoop
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import from_json

SCAN_SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    """The result of a request for the history of a log."""

    name: str
    app_id: str = "app"
    rows: tuple[bytes, ...] = (b"row",)
    names: tuple[bytes, ...] = ()
    failure: str = ""
    ended: bool = True
    baselines_updated: bool = True


@dataclass
class Recorded:
    """A broker that accepts everything, and a history reader whose answers a test sets."""

    sent: list[tuple[str, bytes | None, bytes | None]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def send(self, batch: Batch) -> None:
        self.sent += batch.records

    def request(self, name: str, path: str) -> None:
        del path
        self.asked.append(name)

    def results(self) -> list[Answer]:
        ready, self.answers = self.answers, []
        return ready

    @property
    def topics(self) -> Counter[str]:
        return Counter(topic for topic, _, _ in self.sent)

    @property
    def tasks(self) -> list[int]:
        facts = [Fact.FromString(value) for topic, _, value in self.sent if topic == "facts" and value]
        return [fact.task_ended.task_id for fact in facts if fact.HasField("task_ended")]


@dataclass
class Loop:
    """The shipper's loop on a folder; each turn of the loop scans the folder once."""

    folder: Path
    recorded: Recorded = field(default_factory=Recorded)
    now: float = 2_000_000_000.0
    positions: dict[str, Position] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.registry = CollectorRegistry()
        self.work = ShippingLoop(
            [LocalFiles(str(self.folder))],
            Shipper("test", "c", "t"),
            self.recorded,  # type: ignore[arg-type]  # a recorder instead of a Broker
            ShipMetrics(self.registry),
            threading.Event(),
            self.positions,
            self.recorded,
            clock=lambda: self.now,
        )

    def turns(self, count: int = 1) -> None:
        for _ in range(count):
            self.now += SCAN_SECONDS
            self.work.turn()

    def problems(self, kind: str) -> float:
        return self.registry.get_sample_value("sparkfuse_ship_problems_total", {"kind": kind}) or 0.0


def log(*tasks: int, **properties: str) -> bytes:
    """Write an open log with these tasks."""
    settings = {"spark.app.name": "job", **properties}
    ended = [
        {
            "Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "Success"},
            "Task Info": {"Task ID": task, "Index": task, "Attempt": 0, "Launch Time": 100, "Finish Time": 200},
        }
        for task in tasks
    ]  # fmt: skip
    events = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.9"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings},
        {
            "Event": "SparkListenerApplicationStart", "App Name": "job", "App ID": "app-1", "Timestamp": 50,
            "User": "u",
        },
        *ended,
    ]  # fmt: skip
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    """Return a shipper on an empty folder."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return Loop(folder)


def write(loop: Loop, name: str, content: bytes, *, age_seconds: float = 0.0) -> None:
    path = loop.folder / name
    path.write_bytes(content)
    os.utime(path, (loop.now - age_seconds, loop.now - age_seconds))


def test_logs_of_an_absent_mount_are_not_sent_again(loop: Loop, tmp_path: Path) -> None:
    """If a mount is absent for many scans, no position is deleted, and each log continues at its own position."""
    write(loop, "app.inprogress", log(1, 2))
    loop.turns()
    loop.folder.rename(tmp_path / "away")
    loop.folder.mkdir()
    loop.turns(5 * SCANS_UNTIL_MISSING)
    loop.folder.rmdir()
    (tmp_path / "away").rename(loop.folder)
    write(loop, "app.inprogress", log(1, 2, 3))
    loop.turns(2)

    assert loop.recorded.tasks == [1, 2, 3]
    assert [value for topic, _, value in loop.recorded.sent if topic == "positions" and value is None] == []
    assert loop.problems("deleted before its end") == 1


def test_history_of_an_absent_log_is_requested_again(loop: Loop, tmp_path: Path) -> None:
    """If a log is absent when its history is requested, the log is not quarantined.

    The history of the log stays due until the log can be read.
    """
    write(loop, "app", log(1), age_seconds=10_000)
    loop.turns()
    name = str(loop.folder / "app")
    loop.folder.rename(tmp_path / "away")
    loop.folder.mkdir()
    loop.recorded.answers.append(Answer(name, rows=(), failure="there is no such log"))
    loop.turns(5)
    assert loop.recorded.topics == {}
    loop.folder.rmdir()
    (tmp_path / "away").rename(loop.folder)
    loop.turns()
    loop.recorded.answers.append(Answer(name))
    loop.turns()

    assert loop.recorded.asked[-1] == name
    assert loop.recorded.topics == {"history": 1, "positions": 1}
    assert loop.problems("quarantined") == 0
    assert loop.problems("deleted before its history") == 1


def test_history_without_baseline_update_is_sent_and_counted(loop: Loop) -> None:
    """The history rows of a log are sent even if the baselines could not be updated."""
    write(loop, "app", log(1), age_seconds=10_000)
    loop.turns()
    loop.recorded.answers.append(Answer(str(loop.folder / "app"), baselines_updated=False))
    loop.turns()

    assert loop.recorded.topics == {"history": 1, "positions": 1}
    assert loop.problems("baselines not updated") == 1


def test_restart_without_changes_sends_no_position(loop: Loop) -> None:
    """After a restart, no position is sent for an unchanged log, so the stored time of its last change is kept."""
    write(loop, "app.inprogress", log(1))
    loop.turns()
    read = [from_json(Position, value) for topic, _, value in loop.recorded.sent if topic == "positions" and value]
    restarted = Loop(loop.folder, now=loop.now, positions={position.log: position for position in read})
    restarted.turns(2)
    assert restarted.recorded.topics == {}
    write(restarted, "app.inprogress", log(1, 2))
    restarted.turns()

    assert restarted.recorded.tasks == [2]
    assert restarted.recorded.topics["positions"] == 1
