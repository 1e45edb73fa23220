"""Tests how one log is followed: however its files change, each event is sent once and lost events are counted."""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import pytest

from sparkfuse_collectors.logs.files import Item, LocalFiles, files_of
from sparkfuse_collectors.logs.find import find_logs
from sparkfuse_collectors.logs.lines import ReaderCache
from sparkfuse_collectors.ship.tail import LogTail
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.wire import from_json, to_json

LOGS = Path(__file__).parents[2] / "logs"
SHIPPER = Shipper("test", "c", "t")
NOW = 4_000_000_000.0
"""A time long after any file was written, so that closed logs count as complete."""
DAY = 86_400.0
TURN = 1 << 20


def event(name: str, **members: object) -> bytes:
    prefix = "" if "." in name else "SparkListener"
    return json.dumps({"Event": f"{prefix}{name}", **members}).encode() + b"\n"


def task(number: int) -> bytes:
    info = {"Task ID": number, "Index": number, "Attempt": 0, "Launch Time": 100, "Finish Time": 200 + number}
    ended = {"Stage ID": 0, "Stage Attempt ID": 0, "Task End Reason": {"Reason": "Success"}, "Task Info": info}
    return event("TaskEnd", **ended)


def header(app_id: str = "app-1", start_ms: int = 50, **properties: str) -> bytes:
    start = {"App Name": "job", "App ID": app_id, "Timestamp": start_ms, "User": "u"}
    return (
        event("LogStart", **{"Spark Version": "3.5.9"})
        + event("EnvironmentUpdate", **{"Spark Properties": {"spark.app.name": "job", **properties}})
        + event("ApplicationStart", **start)
        + event("JobStart", **{"Job ID": 0, "Submission Time": 60, "Stage IDs": [0]})
    )


END = event("ApplicationEnd", Timestamp=900)


class Folder:
    """A folder with one log that is read as the shipper reads it; ``restart`` keeps only the position."""

    def __init__(self, path: Path, abandoned: float = math.inf) -> None:
        self.path, self.abandoned = path, abandoned
        self.now = NOW
        self.files = LocalFiles(str(path))
        self.readers = ReaderCache()
        self.tail: LogTail | None = None
        self.facts: list[Fact] = []
        self.malformed = 0

    def write(self, name: str, content: bytes, *, append: bool = True) -> None:
        target = self.path / name
        target.parent.mkdir(exist_ok=True)
        with target.open("ab" if append else "wb") as file:
            file.write(content)
        if self.abandoned < math.inf:
            os.utime(target, (self.now, self.now))

    def read(self, turn_bytes: int = TURN) -> list[str]:
        """Scan once and read everything; return the kinds of the new facts without collector health."""
        (found,) = find_logs(self.files)
        if self.tail is None:
            self.tail = LogTail(found.name, SHIPPER, abandoned=self.abandoned)
        self.tail.observe(found, self.now)
        fresh: list[Fact] = []
        turns = 0
        while self.tail.wants_read(self.now):
            read = self.tail.read(self.files, self.readers, turn_bytes, self.now)
            fresh += [Fact.FromString(record) for record in read.records]
            self.malformed += read.malformed
            turns += 1
            assert turns < 1000, "reading does not end"
            if not read.more:
                break
        self.facts += fresh
        return [kind(fact) for fact in fresh if kind(fact) != "collector_health"]

    def restart(self) -> None:
        """Continue as after a kill, with only the committed position."""
        assert self.tail is not None
        position = self.tail.position()
        (found,) = find_logs(self.files)
        self.readers = ReaderCache()
        known = position and from_json(Position, to_json(position))
        self.tail = LogTail(found.name, SHIPPER, known, self.abandoned)

    @property
    def tasks(self) -> list[int]:
        return [fact.task_ended.task_id for fact in self.facts if kind(fact) == "task_ended"]

    @property
    def gaps_and_duplicates(self) -> dict[str, list[int]]:
        """Return the missing and the duplicate sequence numbers of each lane."""
        found = {}
        for lane in ("bulk", "reserved"):
            numbers = Counter(fact.seq for fact in self.facts if fact.lane == lane)
            wrong = [number for number in range(max(numbers, default=-1) + 1) if numbers[number] != 1]
            if wrong:
                found[lane] = wrong
        return found


class StoreWithoutIdentities(LocalFiles):
    """A file system that does not report identities of files, such as inodes."""

    def children(self, folder: str) -> Iterator[Item]:
        for item in super().children(folder):
            yield item._replace(identity="")

    def identity(self, path: str) -> str:
        return ""


def kind(fact: Fact) -> str:
    return str(fact.WhichOneof("kind"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_follows_growth_and_renaming(folder: Folder) -> None:
    """A line is read when it is complete, and a renamed log continues under its new name."""
    folder.write("app-1.inprogress", header() + task(1) + task(2)[:30])

    assert folder.read() == ["application_started", "job_started", "task_ended"]
    folder.write("app-1.inprogress", task(2)[30:])
    assert folder.read() == ["task_ended"]
    (folder.path / "app-1.inprogress").rename(folder.path / "app-1")
    folder.write("app-1", task(3) + END)
    assert folder.read() == ["task_ended", "application_ended"]
    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.state.stored_name) == ([1, 2, 3], {}, "done")


@pytest.mark.parametrize("cut", range(0, 2400, 61))
def test_continues_after_a_kill_at_any_byte(folder: Folder, cut: int) -> None:
    """Wherever the file ended when the shipper was killed, each fact is sent once, with the next sequence number."""
    content = header() + b"".join(map(task, range(8))) + END
    folder.write("app-1.inprogress", content[:cut])
    if cut:
        folder.read(turn_bytes=200)
        folder.restart()
    folder.write("app-1.inprogress", content[cut:])
    if not cut:
        folder.read()
    folder.read(turn_bytes=200)
    folder.restart()
    folder.read()

    kinds = Counter(map(kind, folder.facts))
    assert folder.tasks == list(range(8))
    assert kinds["application_ended"] == 1
    assert folder.gaps_and_duplicates == {}


def test_malformed_lines_are_counted_and_skipped(folder: Folder) -> None:
    """Malformed lines are skipped, counted, and leave gaps in the sequence numbers.

    The malformed lines are NUL bytes, half a line, a wrong type, and a huge number.
    """
    huge = task(9).replace(b'"Launch Time": 100', b'"Launch Time": 1' + b"0" * 30)
    folder.write("app-1.inprogress", header() + b"\0" * 300 + b"\n" + b'{"Event":"Spark\n' + task(1))
    folder.write("app-1.inprogress", event("TaskEnd", **{"Stage ID": "x", "Task Info": []}) + huge + task(2) + END)
    folder.read()

    assert folder.tasks == [1, 2]
    assert folder.malformed == 4
    assert len(folder.gaps_and_duplicates["bulk"]) == 4
    health = [fact.collector_health for fact in folder.facts if kind(fact) == "collector_health"]
    assert health[-1].malformed_lines == 4
    assert health[-1].behind_bytes == 0


def test_line_over_16_mb_is_malformed(folder: Folder) -> None:
    """A line over 16 MB is skipped piece by piece, and the lines after it are read."""
    folder.write("app-1.inprogress", header() + b'{"Event":"' + b"x" * (17 << 20) + b'"}\n' + task(1))
    folder.read()

    assert (folder.tasks, folder.malformed) == ([1], 1)


def test_reads_rolled_files_in_order(folder: Folder) -> None:
    """The files of a rolled log are read in the order of their numbers.

    The marker file shows when the log is complete.
    """
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/appstatus_app-1.inprogress", b"")
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    assert folder.read() == ["application_started", "job_started", "task_ended"]
    folder.write(f"{log}/events_1_app-1", task(2))
    folder.write(f"{log}/events_2_app-1", task(3))
    folder.write(f"{log}/events_10_app-1", task(4))
    assert folder.read() == ["task_ended"] * 3
    folder.restart()
    folder.write(f"{log}/events_10_app-1", END)
    (folder.path / log / "appstatus_app-1.inprogress").rename(folder.path / log / "appstatus_app-1")
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.state.stored_name) == ([1, 2, 3, 4], {}, "done")


def test_completely_read_log_is_not_behind(folder: Folder) -> None:
    """The delay of a log is zero after everything was read, and otherwise measured from the first unread byte."""
    folder.write("app-1.inprogress", header())
    folder.read()
    assert folder.tail is not None
    for number in range(3):
        folder.write("app-1.inprogress", task(number))
        folder.read()
        assert folder.tail.behind_since == 0.0

    folder.write("app-1.inprogress", task(3))
    (found,) = find_logs(folder.files)
    folder.tail.observe(found, NOW)
    assert folder.tail.behind_since == NOW


def test_compaction_of_read_files_repeats_no_fact(folder: Folder) -> None:
    """Facts of compacted files are not sent again, neither before nor after a restart."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.write(f"{log}/events_2_app-1", task(2))
    folder.write(f"{log}/events_3_app-1", task(3))
    folder.read()
    for number in (1, 2):
        (folder.path / log / f"events_{number}_app-1").unlink()
    folder.write(f"{log}/events_2_app-1.compact", header() + task(2))
    folder.write(f"{log}/events_3_app-1", task(4))
    folder.read()
    folder.restart()
    folder.write(f"{log}/events_3_app-1", task(5) + END)
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.gaps) == ([1, 2, 3, 4, 5], {}, 0)


def test_deleted_unread_file_is_a_gap(folder: Folder) -> None:
    """If a file was compacted before it was read, its events are counted as a gap.

    The compacted file is not read.
    """
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.read()
    (folder.path / log / "events_1_app-1").unlink()
    folder.write(f"{log}/events_2_app-1.compact", header() + task(1))
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert folder.tasks == [1, 3]
    assert folder.tail.gaps == 1
    assert len(folder.gaps_and_duplicates["bulk"]) == 1


@pytest.mark.parametrize("meanwhile", ["running", "suspended", "restarted", "in an object store"])
@pytest.mark.parametrize("kept", [0, 2, 3000], ids=["less than was read", "about as much", "much more"])
def test_compaction_of_a_partly_read_file_is_a_gap(folder: Folder, meanwhile: str, kept: int) -> None:
    """If a partly read file is compacted, its unread events are counted as a gap.

    No fact is sent twice, and the next file is read.
    """
    if meanwhile == "in an object store":
        folder.files = StoreWithoutIdentities(str(folder.path))
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.write(f"{log}/events_2_app-1", b"".join(map(task, range(2, 8))))
    folder.read()
    if meanwhile == "suspended":
        folder.tail.suspend()
    if meanwhile == "restarted":
        folder.restart()
    for number in (1, 2):
        (folder.path / log / f"events_{number}_app-1").unlink()
    compacted = header(note="x" * 100) + b"".join(task(100 + number) for number in range(kept))
    folder.write(f"{log}/events_2_app-1.compact", compacted)
    folder.write(f"{log}/events_3_app-1", task(8) + END)
    folder.read()

    assert folder.tasks == list(range(1, 9))
    assert (folder.tail.state.stored_name, folder.tail.gaps, len(folder.gaps_and_duplicates["bulk"])) == ("done", 1, 1)


def test_compacted_file_continues_after_a_restart(folder: Folder) -> None:
    """A log that was compacted before it was first seen continues in its compacted file."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_2_app-1.compact", header() + task(1) + task(2)[:20])
    folder.read()
    folder.restart()
    folder.write(f"{log}/events_2_app-1.compact", task(2)[20:])
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.gaps) == ([1, 2, 3], {}, 0)


def test_compaction_before_the_first_line_of_a_file_is_a_gap(folder: Folder) -> None:
    """If a file is compacted before its first line was read, its events are counted as a gap.

    Facts that were sent before are not sent again.
    """
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.write(f"{log}/events_2_app-1", task(2))
    (found,) = find_logs(folder.files)
    folder.tail = LogTail(found.name, SHIPPER)
    folder.tail.observe(found, NOW)
    first = folder.tail.read(folder.files, folder.readers, TURN, NOW)
    folder.facts += [Fact.FromString(record) for record in first.records]
    assert first.more
    folder.restart()
    for number in (1, 2):
        (folder.path / log / f"events_{number}_app-1").unlink()
    folder.write(f"{log}/events_2_app-1.compact", header() + task(2))
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert (folder.tasks, folder.tail.gaps, folder.tail.state.stored_name) == ([1, 3], 1, "done")


def test_log_of_another_application_is_read_from_its_start(folder: Folder) -> None:
    """If another run overwrote or replaced a file, the file is read from its beginning."""
    folder.write("app-1", header(start_ms=50) + task(1) + task(2) + task(3))
    folder.read()
    folder.write("app-1", header(start_ms=51) + task(7), append=False)
    folder.read()

    assert folder.tasks == [1, 2, 3, 7]
    assert {fact.app_start_ms for fact in folder.facts} == {50, 51}
    assert folder.tail.rewritten == 1
    (folder.path / "app-1").rename(folder.path / "moved")
    folder.write("app-1", header(start_ms=52) + task(8) + task(9) + task(10), append=False)
    (folder.path / "moved").unlink()
    folder.read()
    assert folder.tasks == [1, 2, 3, 7, 8, 9, 10]


def test_copy_with_another_inode_continues(folder: Folder) -> None:
    """After a rename by copying, facts are not sent again."""
    folder.write("app-1.inprogress", header() + task(1))
    folder.read()
    shutil.copy(folder.path / "app-1.inprogress", folder.path / "app-1")
    (folder.path / "app-1.inprogress").unlink()
    folder.write("app-1", task(2) + END)
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.rewritten) == ([1, 2], {}, 0)


def test_truncated_log_is_quarantined(folder: Folder) -> None:
    """If the log of the same run became shorter, nothing is sent twice and the reason is stored."""
    folder.write("app-1.inprogress", header() + task(1) + task(2))
    folder.read()
    folder.write("app-1.inprogress", header() + task(1), append=False)
    folder.read()

    assert folder.tasks == [1, 2]
    assert (folder.tail.state.stored_name, folder.tail.reason) == (
        "quarantined",
        "the log is shorter than the part that was already read",
    )
    assert folder.tail.position().state == "quarantined"


def test_databricks_rotation_continues_in_the_packed_file(folder: Folder) -> None:
    """When Databricks compresses the current file and starts a new one, each line is read once."""
    folder.write("eventlog/eventlog", header() + task(1))
    folder.read()
    folder.write("eventlog/eventlog", task(2))
    rolled = folder.path / "eventlog" / "eventlog-2026-11-21--10-00.gz"
    rolled.write_bytes(gzip.compress((folder.path / "eventlog" / "eventlog").read_bytes()))
    folder.write("eventlog/eventlog", task(3), append=False)
    folder.read()
    folder.write("eventlog/eventlog", task(4) + END)
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates) == ([1, 2, 3, 4], {})


@pytest.mark.parametrize("log", sorted(path for path in (LOGS / "real").glob("*/*") if path.name != "README.md"))
def test_compressed_log_may_grow_by_incomplete_frames(folder: Folder, log: Path) -> None:
    """A compressed log that grows in parts gives the same facts as the whole log.

    A part may end inside a compression frame.
    """
    if log.is_dir():
        pytest.skip("a rolled log consists of several files")
    content = log.read_bytes()
    whole = Folder(folder.path / "whole")
    whole.write(f"{log.name}", content)
    whole.read()
    steps = [len(content) * part // 7 for part in range(8)]
    grown = Folder(folder.path / "grown")
    growing = f"{log.name.removesuffix('.inprogress')}.inprogress"
    for begin, end in pairwise(steps):
        grown.write(growing, content[begin:end])
        grown.read()
        if begin % 3 == 0:
            grown.restart()
    (grown.path / growing).rename(grown.path / log.name)
    grown.read()

    expected = [fact.event_id for fact in whole.facts if kind(fact) != "collector_health"]
    assert [fact.event_id for fact in grown.facts if kind(fact) != "collector_health"] == expected
    assert len(set(expected)) == len(expected)
    assert grown.gaps_and_duplicates == {}


def test_follows_a_log_in_an_fsspec_store() -> None:
    """A log in an object store is identified by its URL, and no read request goes beyond the end of the log."""
    store = fsspec.filesystem("memory")
    store.pipe_file("/spark-logs/app-1.inprogress", header() + task(1) + task(2)[:20])
    files, readers = files_of("memory://spark-logs"), ReaderCache()
    (found,) = find_logs(files)
    tail = LogTail(found.name, SHIPPER)
    tail.observe(found, NOW)
    first = tail.read(files, readers, TURN, NOW).records
    store.pipe_file("/spark-logs/app-1", header() + task(1) + task(2) + END)
    store.rm("/spark-logs/app-1.inprogress")
    (found,) = find_logs(files)
    tail.observe(found, NOW)
    second = tail.read(files, readers, TURN, NOW).records

    kinds = [kind(Fact.FromString(record)) for record in first + second]
    assert [name for name in kinds if name != "collector_health"] == [
        "application_started", "job_started", "task_ended", "task_ended", "application_ended",
    ]  # fmt: skip
    assert files.display_path(found.place) == "memory://spark-logs/app-1"
    assert tail.state.stored_name == "done"


def test_facts_of_watched_applications_are_not_sent(folder: Folder) -> None:
    """If the plugin reports an application, the shipper sends no facts of this application.

    The history of the application is due when the log ends.
    """
    plugins: dict[str, Any] = {"spark.plugins": "a.B, io.sparkfuse.spark.SparkfusePlugin"}
    folder.write("app-1.inprogress", header(**plugins) + task(1))
    assert folder.read() == []
    assert (folder.tail.state.stored_name, folder.tail.history_due) == ("watched", False)
    folder.restart()
    folder.write("app-1.inprogress", END)
    assert folder.read() == []
    assert folder.tail.history_due


def test_disabled_plugin_does_not_watch(folder: Folder) -> None:
    """If the plugin is loaded but disabled, the shipper sends the facts of the log."""
    plugin: dict[str, Any] = {"spark.plugins": "io.sparkfuse.spark.SparkfusePlugin", "spark.sparkfuse.enabled": "false"}
    folder.write("app-1.inprogress", header(**plugin) + task(1))

    assert folder.read() == ["application_started", "job_started", "task_ended"]


PLUGIN: dict[str, Any] = {"spark.plugins": "io.sparkfuse.spark.SparkfusePlugin"}
RESTARTS = pytest.mark.parametrize("restarted", [False, True], ids=["at run time", "after a restart"])


@pytest.fixture
def abandonable(tmp_path: Path) -> Folder:
    """Return a folder whose logs are abandoned after a day without a change; its files have the time ``now``."""
    return Folder(tmp_path, DAY)


@RESTARTS
@pytest.mark.parametrize("name", ["app-1.inprogress", "eventlog_v2_app-1/events_1_app-1"])
def test_history_of_a_killed_watched_driver_is_due(abandonable: Folder, name: str, *, restarted: bool) -> None:
    """If a driver with the plugin is killed, its log stays open.

    The history of the log is due after a day without a change.
    """
    abandonable.write(name, header(**PLUGIN) + task(1) + task(2)[:20])
    abandonable.read()
    if restarted:
        abandonable.restart()
    abandonable.now += DAY - 1

    assert abandonable.read() == []
    assert (abandonable.tail.state.stored_name, abandonable.tail.history_due) == ("watched", False)
    abandonable.now += 2
    assert abandonable.read() == []
    assert (abandonable.tail.state.stored_name, abandonable.tail.history_due) == ("watched", True)


@RESTARTS
def test_log_of_a_killed_driver_ends_torn(abandonable: Folder, *, restarted: bool) -> None:
    """The log of a killed driver is finished and is not read again.

    The last health fact of the log has the flag `torn`.
    """
    abandonable.write("app-1.inprogress", header() + task(1) + task(2)[:20])
    abandonable.read()
    if restarted:
        abandonable.restart()
    abandonable.now += DAY + 1
    abandonable.read()

    health = [fact.collector_health for fact in abandonable.facts if kind(fact) == "collector_health"]
    assert (abandonable.tail.state.stored_name, health[-1].torn) == ("done", True)
    for _ in range(2):
        abandonable.now += DAY
        assert abandonable.read() == []
        assert not abandonable.tail.wants_read(abandonable.now)
        abandonable.restart()
    assert (abandonable.tasks, abandonable.gaps_and_duplicates) == ([1], {})


@RESTARTS
@pytest.mark.parametrize("closed", [False, True], ids=["grows", "grows and is closed"])
@pytest.mark.parametrize("cut", [20, None], ids=["half a line", "whole lines"])
def test_abandoned_log_that_grows_continues(
    abandonable: Folder, cut: int | None, *, closed: bool, restarted: bool
) -> None:
    """If an abandoned log grows after days, each new fact is still sent once and with the next sequence number."""
    whole = task(2)
    abandonable.write("app-1.inprogress", header() + task(1) + (whole[:cut] if cut else b""))
    abandonable.read()
    abandonable.now += 2 * DAY
    abandonable.read()
    assert abandonable.tail.state.stored_name == "done"
    if restarted:
        abandonable.now = time.time() + 60  # a time after the position was written
    abandonable.write("app-1.inprogress", (whole[cut:] if cut else whole) + task(3))
    if restarted:
        abandonable.restart()
    if not closed:
        abandonable.read()
        assert abandonable.tail.state.stored_name == "live"
        abandonable.now += 2 * DAY
        abandonable.read()
        assert abandonable.tail.state.stored_name == "done"
        abandonable.now += 1
    abandonable.write("app-1.inprogress", END)
    (abandonable.path / "app-1.inprogress").rename(abandonable.path / "app-1")
    abandonable.now += 100
    abandonable.read()

    assert (abandonable.tasks, abandonable.gaps_and_duplicates, abandonable.tail.state.stored_name) == (
        [1, 2, 3],
        {},
        "done",
    )
    assert Counter(map(kind, abandonable.facts))["application_ended"] == 1


@RESTARTS
def test_abandoned_watched_log_that_grows_sends_history_again(abandonable: Folder, *, restarted: bool) -> None:
    """If the plugin reports an application and its abandoned log grows, the history is due again when the log ends.

    No facts are sent.
    """
    abandonable.write("app-1.inprogress", header(**PLUGIN) + task(1))
    abandonable.read()
    abandonable.now += 2 * DAY
    abandonable.read()
    assert abandonable.tail.history_due
    abandonable.tail.history_sent()
    assert abandonable.tail.state.stored_name == "done"
    if restarted:
        abandonable.now = time.time() + 60
    abandonable.write("app-1.inprogress", task(2))
    if restarted:
        abandonable.restart()

    assert abandonable.read() == []
    assert (abandonable.tail.state.stored_name, abandonable.tail.history_due) == ("watched", False)
    abandonable.write("app-1.inprogress", END)
    assert abandonable.read() == []
    assert abandonable.tail.history_due
    assert abandonable.facts == []


@RESTARTS
def test_history_only_log_that_grows_sends_history_again(abandonable: Folder, *, restarted: bool) -> None:
    """If a log whose history was sent grows, the history is due again when the log ends, and no facts are sent."""
    abandonable.write("app-1.inprogress", header() + task(1))
    (found,) = find_logs(abandonable.files)
    abandonable.tail = LogTail(found.name, SHIPPER, abandoned=DAY)
    abandonable.tail.found = found
    abandonable.tail.send_only_history()
    abandonable.tail.history_sent()
    assert abandonable.read() == []
    abandonable.now = time.time() + 60 if restarted else abandonable.now + 1
    abandonable.write("app-1.inprogress", task(2))
    if restarted:
        abandonable.restart()
    assert abandonable.read() == []
    assert (abandonable.tail.state.stored_name, abandonable.tail.history_due) == ("watched", False)
    abandonable.write("app-1.inprogress", END)

    assert abandonable.read() == []
    assert (abandonable.tail.history_due, abandonable.facts) == (True, [])


def test_growth_without_a_new_modification_time_counts(abandonable: Folder) -> None:
    """HDFS does not update the time of an open file, so a growing log is not abandoned."""
    abandonable.write("app-1.inprogress", header() + task(1))
    abandonable.read()
    old = abandonable.now
    abandonable.now += 2 * DAY
    abandonable.write("app-1.inprogress", task(2))
    os.utime(abandonable.path / "app-1.inprogress", (old, old))
    abandonable.read()

    assert (abandonable.tail.state.stored_name, abandonable.tasks) == ("live", [1, 2])
    abandonable.now += DAY + 1
    abandonable.read()
    assert abandonable.tail.state.stored_name == "done"


@pytest.mark.parametrize("end", [END, b""], ids=["ended", "abandoned again"])
def test_history_only_log_sends_no_facts_after_a_restart(abandonable: Folder, end: bytes) -> None:
    """The position of a log stores that only its history was sent, so no facts are sent after a restart."""
    abandonable.write("app-1.inprogress", header() + task(1))
    (found,) = find_logs(abandonable.files)
    abandonable.tail = LogTail(found.name, SHIPPER, abandoned=DAY)
    abandonable.tail.found = found
    abandonable.tail.send_only_history()
    abandonable.tail.history_sent()
    abandonable.write(
        "app-1.inprogress", event("JobStart", **{"Job ID": 1, "Submission Time": 70, "Stage IDs": [1]}) + end
    )
    abandonable.read()
    abandonable.now += 2 * DAY
    abandonable.read()
    assert abandonable.tail.history_due
    abandonable.tail.history_sent()
    assert abandonable.tail.position().app_id == "app-1"
    abandonable.now = time.time() + 60
    abandonable.write("app-1.inprogress", task(2))
    abandonable.restart()

    assert abandonable.read() == []
    assert (abandonable.tail.state.stored_name, abandonable.facts) == ("watched", [])


def set_modified(abandonable: Folder, modified: float) -> None:
    """Set the modification time, because HDFS keeps the old time and some object stores have no time."""
    os.utime(abandonable.path / "app-1.inprogress", (modified, modified))


@pytest.mark.parametrize("has_time", [True, False], ids=["first time", "no time"])
def test_log_with_an_old_time_continues_after_a_restart(abandonable: Folder, *, has_time: bool) -> None:
    """A log with an old modification time is followed while the last new content is less than a day old.

    Otherwise the log is abandoned after a day.
    """
    abandonable.now = time.time() - 3 * DAY
    old = abandonable.now if has_time else 0.0
    abandonable.write("app-1.inprogress", header() + task(1))
    set_modified(abandonable, old)
    abandonable.read()
    abandonable.now = time.time()
    abandonable.write("app-1.inprogress", task(2))
    set_modified(abandonable, old)
    abandonable.read()
    for later in (60, 2 * DAY):
        abandonable.restart()
        abandonable.now += later
        if later > DAY:
            abandonable.write("app-1.inprogress", task(3))
            set_modified(abandonable, old)
        abandonable.read()
        assert abandonable.tail.state.stored_name == "live"
    abandonable.now += DAY - 1
    abandonable.read()
    assert abandonable.tail.state.stored_name == "live"
    abandonable.now += 2
    abandonable.read()

    assert (abandonable.tail.state.stored_name, abandonable.tasks, abandonable.gaps_and_duplicates) == (
        "done",
        [1, 2, 3],
        {},
    )


@pytest.mark.parametrize("begun", [header() + task(1), header()[:20]], ids=["lines", "half a line"])
def test_new_log_without_a_time_is_not_abandoned(abandonable: Folder, begun: bytes) -> None:
    """A new log without a modification time is abandoned one day after its first scan, not earlier."""
    abandonable.write("app-1.inprogress", begun)
    set_modified(abandonable, 0.0)
    for _ in range(2):
        abandonable.read()
        assert abandonable.tail.state.stored_name == "live"
        abandonable.now += DAY - 1
    abandonable.now += 2
    abandonable.read()

    assert abandonable.tail.state.stored_name in {"done", "quarantined"}


def test_unchanged_log_is_abandoned_across_a_restart(abandonable: Folder) -> None:
    """The position stores the time of the last change, so a restart does not delay when a log is abandoned."""
    abandonable.now = time.time()
    abandonable.write("app-1.inprogress", header() + task(1))
    set_modified(abandonable, 0.0)
    abandonable.read()
    abandonable.restart()
    abandonable.now += DAY + 60
    abandonable.read()

    assert abandonable.tail.state.stored_name == "done"


def test_absent_log_continues_when_it_is_back(folder: Folder) -> None:
    """If a log was absent and returns, each fact is sent once, even if the file has another inode."""
    folder.write("app-1.inprogress", header() + task(1) + task(2)[:20])
    folder.read()
    folder.tail.suspend()
    copied = folder.path / "app-1.copy"
    shutil.copy(folder.path / "app-1.inprogress", copied)
    copied.rename(folder.path / "app-1.inprogress")
    folder.write("app-1.inprogress", task(2)[20:] + END)
    folder.read()

    assert (folder.tasks, folder.gaps_and_duplicates, folder.tail.state.stored_name) == ([1, 2], {}, "done")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello\n" * 10, "no line of the log contains an application id"),
        (task(1) * 3, "it does not begin with the start of an application"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "nknown frame descriptor"),
        (b"PK\x03\x04" + b"\0" * 100, "zip"),
    ],
    ids=["text", "no start", "broken zstd", "zip"],
)
def test_file_that_is_not_a_log_is_quarantined(folder: Folder, content: bytes, reason: str) -> None:
    """If a file is not an event log, the reason is stored and the file is not read again."""
    folder.write("app-1", content)

    assert folder.read() == []
    assert folder.tail.state.stored_name == "quarantined"
    assert reason in folder.tail.reason or folder.tail.reason
    assert not folder.tail.wants_read(NOW)
