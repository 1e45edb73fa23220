"""One log that is followed: whatever happens to its files, each event is one fact, and what is lost is counted."""

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
"""Long after any file was written: what is closed has settled."""
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
    """A folder of one log, looked at and read as the shipper does it; ``again`` forgets all but the position."""

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
        """Look once and read all there is; the kinds of the new facts, the shipper's own left out."""
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
            assert turns < 1000, "it reads for ever"
            if not read.more:
                break
        self.facts += fresh
        return [kind(fact) for fact in fresh if kind(fact) != "collector_health"]

    def again(self) -> None:
        """As after a kill: what is known is what was committed, as it travels."""
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
    def holes(self) -> dict[str, list[int]]:
        """Numbers that are missing or doubled, by lane."""
        found = {}
        for lane in ("bulk", "reserved"):
            numbers = Counter(fact.seq for fact in self.facts if fact.lane == lane)
            wrong = [number for number in range(max(numbers, default=-1) + 1) if numbers[number] != 1]
            if wrong:
                found[lane] = wrong
        return found


class Nameless(LocalFiles):
    """A store that does not tell one file from another that took its name."""

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
    """Half a line waits for its other half, and a log goes on under its name when it is finished."""
    folder.write("app-1.inprogress", header() + task(1) + task(2)[:30])

    assert folder.read() == ["application_started", "job_started", "task_ended"]
    folder.write("app-1.inprogress", task(2)[30:])
    assert folder.read() == ["task_ended"]
    (folder.path / "app-1.inprogress").rename(folder.path / "app-1")
    folder.write("app-1", task(3) + END)
    assert folder.read() == ["task_ended", "application_ended"]
    assert (folder.tasks, folder.holes, folder.tail.state.stored_name) == ([1, 2, 3], {}, "done")


@pytest.mark.parametrize("cut", range(0, 2400, 61))
def test_goes_on_after_a_kill_at_any_byte(folder: Folder, cut: int) -> None:
    """Whatever was there when it was killed, each fact comes once, in order, under the next number."""
    content = header() + b"".join(map(task, range(8))) + END
    folder.write("app-1.inprogress", content[:cut])
    if cut:
        folder.read(turn_bytes=200)
        folder.again()
    folder.write("app-1.inprogress", content[cut:])
    if not cut:
        folder.read()
    folder.read(turn_bytes=200)
    folder.again()
    folder.read()

    kinds = Counter(map(kind, folder.facts))
    held = 2 if cut and kinds["application_started"] == 2 else 1
    assert folder.tasks == list(range(8))
    assert kinds["application_ended"] == 1
    assert held == 1
    assert folder.holes == {}


def test_a_bad_line_is_missed_and_stops_nothing(folder: Folder) -> None:
    """NUL bytes, half a line, a value of the wrong kind, a number too large: counted, and holes for consumers."""
    huge = task(9).replace(b'"Launch Time": 100', b'"Launch Time": 1' + b"0" * 30)
    folder.write("app-1.inprogress", header() + b"\0" * 300 + b"\n" + b'{"Event":"Spark\n' + task(1))
    folder.write("app-1.inprogress", event("TaskEnd", **{"Stage ID": "x", "Task Info": []}) + huge + task(2) + END)
    folder.read()

    assert folder.tasks == [1, 2]
    assert folder.malformed == 4
    assert len(folder.holes["bulk"]) == 4
    health = [fact.collector_health for fact in folder.facts if kind(fact) == "collector_health"]
    assert health[-1].malformed_lines == 4
    assert health[-1].behind_bytes == 0


def test_a_huge_line_is_bad_and_not_kept(folder: Folder) -> None:
    """A line over 16 MB is passed over, in pieces, and what follows it is read."""
    folder.write("app-1.inprogress", header() + b'{"Event":"' + b"x" * (17 << 20) + b'"}\n' + task(1))
    folder.read()

    assert (folder.tasks, folder.malformed) == ([1], 1)


def test_reads_rolled_files_in_order(folder: Folder) -> None:
    """A rolled log is one log: its files by number, the next one when there is one, its end by its mark."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/appstatus_app-1.inprogress", b"")
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    assert folder.read() == ["application_started", "job_started", "task_ended"]
    folder.write(f"{log}/events_1_app-1", task(2))
    folder.write(f"{log}/events_2_app-1", task(3))
    folder.write(f"{log}/events_10_app-1", task(4))
    assert folder.read() == ["task_ended"] * 3
    folder.again()
    folder.write(f"{log}/events_10_app-1", END)
    (folder.path / log / "appstatus_app-1.inprogress").rename(folder.path / log / "appstatus_app-1")
    folder.read()

    assert (folder.tasks, folder.holes, folder.tail.state.stored_name) == ([1, 2, 3, 4], {}, "done")


def test_a_log_that_grows_and_is_read_is_not_behind(folder: Folder) -> None:
    """Since when it waits counts from the last time that nothing was left, not from the first look."""
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


def test_compaction_behind_it_changes_nothing(folder: Folder) -> None:
    """Files that were read may be compacted; what was sent is not sent again, before and after a kill."""
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
    folder.again()
    folder.write(f"{log}/events_3_app-1", task(5) + END)
    folder.read()

    assert (folder.tasks, folder.holes, folder.tail.gaps) == ([1, 2, 3, 4, 5], {}, 0)


def test_a_file_that_is_gone_is_a_gap(folder: Folder) -> None:
    """What was compacted away before it was read is lost, counted, and a hole; the compacted rest is not doubled."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.read()
    (folder.path / log / "events_1_app-1").unlink()
    folder.write(f"{log}/events_2_app-1.compact", header() + task(1))
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert folder.tasks == [1, 3]
    assert folder.tail.gaps == 1
    assert len(folder.holes["bulk"]) == 1


@pytest.mark.parametrize("meanwhile", ["run on", "suspended", "restarted", "in a store"])
@pytest.mark.parametrize("kept", [0, 2, 3000], ids=["less than was read", "about as much", "much more"])
def test_a_file_that_is_compacted_in_the_middle_is_a_gap(folder: Folder, meanwhile: str, kept: int) -> None:
    """Away or not, what was not read of it is lost and counted, nothing is doubled, and the next file is read."""
    if meanwhile == "in a store":
        folder.files = Nameless(str(folder.path))
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.write(f"{log}/events_2_app-1", b"".join(map(task, range(2, 8))))
    folder.read()
    if meanwhile == "suspended":
        folder.tail.suspend()
    if meanwhile == "restarted":
        folder.again()
    for number in (1, 2):
        (folder.path / log / f"events_{number}_app-1").unlink()
    compacted = header(note="x" * 100) + b"".join(task(100 + number) for number in range(kept))
    folder.write(f"{log}/events_2_app-1.compact", compacted)
    folder.write(f"{log}/events_3_app-1", task(8) + END)
    folder.read()

    assert folder.tasks == list(range(1, 9))
    assert (folder.tail.state.stored_name, folder.tail.gaps, len(folder.holes["bulk"])) == ("done", 1, 1)


def test_a_compacted_file_that_was_begun_is_read_to_its_end_after_a_restart(folder: Folder) -> None:
    """A log that was met behind its compaction goes on in the compacted file."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_2_app-1.compact", header() + task(1) + task(2)[:20])
    folder.read()
    folder.again()
    folder.write(f"{log}/events_2_app-1.compact", task(2)[20:])
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert (folder.tasks, folder.holes, folder.tail.gaps) == ([1, 2, 3], {}, 0)


def test_a_log_that_was_put_away_before_a_file_was_begun_is_compacted(folder: Folder) -> None:
    """Between two files nothing of the second was read: compacted, it is a gap, and the first is not sent again."""
    log = "eventlog_v2_app-1"
    folder.write(f"{log}/events_1_app-1", header() + task(1))
    folder.write(f"{log}/events_2_app-1", task(2))
    (found,) = find_logs(folder.files)
    folder.tail = LogTail(found.name, SHIPPER)
    folder.tail.observe(found, NOW)
    first = folder.tail.read(folder.files, folder.readers, TURN, NOW)
    folder.facts += [Fact.FromString(record) for record in first.records]
    assert first.more
    folder.again()
    for number in (1, 2):
        (folder.path / log / f"events_{number}_app-1").unlink()
    folder.write(f"{log}/events_2_app-1.compact", header() + task(2))
    folder.write(f"{log}/events_3_app-1", task(3) + END)
    folder.read()

    assert (folder.tasks, folder.tail.gaps, folder.tail.state.stored_name) == ([1, 3], 1, "done")


def test_another_application_under_the_name_is_begun_anew(folder: Folder) -> None:
    """A log that was written anew, shorter or under another inode, by another run is that run's, from its beginning."""
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


def test_a_copy_under_another_inode_goes_on(folder: Folder) -> None:
    """A store that copies to rename changes nothing: what was read is recognised and not sent again."""
    folder.write("app-1.inprogress", header() + task(1))
    folder.read()
    shutil.copy(folder.path / "app-1.inprogress", folder.path / "app-1")
    (folder.path / "app-1.inprogress").unlink()
    folder.write("app-1", task(2) + END)
    folder.read()

    assert (folder.tasks, folder.holes, folder.tail.rewritten) == ([1, 2], {}, 0)


def test_one_that_shrank_is_set_aside(folder: Folder) -> None:
    """The same run's log, shorter than what was read of it: nothing is sent twice, and the reason is told."""
    folder.write("app-1.inprogress", header() + task(1) + task(2))
    folder.read()
    folder.write("app-1.inprogress", header() + task(1), append=False)
    folder.read()

    assert folder.tasks == [1, 2]
    assert (folder.tail.state.stored_name, folder.tail.reason) == (
        "quarantined",
        "it is shorter than what was read of it",
    )
    assert folder.tail.position().state == "quarantined"


def test_databricks_rotation_goes_on_in_the_packed_file(folder: Folder) -> None:
    """The file that is written becomes a packed one beside a new one: no line is lost, none doubled."""
    folder.write("eventlog/eventlog", header() + task(1))
    folder.read()
    folder.write("eventlog/eventlog", task(2))
    rolled = folder.path / "eventlog" / "eventlog-2026-11-21--10-00.gz"
    rolled.write_bytes(gzip.compress((folder.path / "eventlog" / "eventlog").read_bytes()))
    folder.write("eventlog/eventlog", task(3), append=False)
    folder.read()
    folder.write("eventlog/eventlog", task(4) + END)
    folder.read()

    assert (folder.tasks, folder.holes) == ([1, 2, 3, 4], {})


@pytest.mark.parametrize("log", sorted(path for path in (LOGS / "real").glob("*/*") if path.name != "README.md"))
def test_a_packed_log_that_grows_byte_by_byte(folder: Folder, log: Path) -> None:
    """However the bytes of a real log arrive, whole frames or not, the facts are those of the whole log."""
    if log.is_dir():
        pytest.skip("a rolled log: its files grow one at a time")
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
            grown.again()
    (grown.path / growing).rename(grown.path / log.name)
    grown.read()

    told = [fact.event_id for fact in whole.facts if kind(fact) != "collector_health"]
    assert [fact.event_id for fact in grown.facts if kind(fact) != "collector_health"] == told
    assert len(set(told)) == len(told)
    assert grown.holes == {}


def test_follows_a_store_that_fsspec_reads() -> None:
    """A log in a store grows as one on a disk does, under its URL, and nothing is read beyond its end."""
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


def test_watched_applications_are_followed_in_silence(folder: Folder) -> None:
    """Nothing of an application that the plugin watches is sent; at its end its history is due."""
    folder.write("app-1.inprogress", header(**{"spark.plugins": "a.B, io.sparkfuse.spark.SparkfusePlugin"}) + task(1))
    assert folder.read() == []
    assert (folder.tail.state.stored_name, folder.tail.history_due) == ("watched", False)
    folder.again()
    folder.write("app-1.inprogress", END)
    assert folder.read() == []
    assert folder.tail.history_due


def test_a_plugin_that_is_switched_off_does_not_watch(folder: Folder) -> None:
    """With the plugin there and disabled, the log is the only source."""
    plugin = {"spark.plugins": "io.sparkfuse.spark.SparkfusePlugin", "spark.sparkfuse.enabled": "false"}
    folder.write("app-1.inprogress", header(**plugin) + task(1))

    assert folder.read() == ["application_started", "job_started", "task_ended"]


PLUGIN = {"spark.plugins": "io.sparkfuse.spark.SparkfusePlugin"}
RESTARTS = pytest.mark.parametrize("restarted", [False, True], ids=["at run time", "after a restart"])


@pytest.fixture
def left(tmp_path: Path) -> Folder:
    """A folder whose logs count as abandoned when they stood still for a day; they change when it is now."""
    return Folder(tmp_path, DAY)


@RESTARTS
@pytest.mark.parametrize("name", ["app-1.inprogress", "eventlog_v2_app-1/events_1_app-1"])
def test_a_watched_log_of_a_killed_driver_is_repaired(left: Folder, name: str, *, restarted: bool) -> None:
    """Nobody closes it: when it stood still for a day its history is due, and not before."""
    left.write(name, header(**PLUGIN) + task(1) + task(2)[:20])
    left.read()
    if restarted:
        left.again()
    left.now += DAY - 1

    assert left.read() == []
    assert (left.tail.state.stored_name, left.tail.history_due) == ("watched", False)
    left.now += 2
    assert left.read() == []
    assert (left.tail.state.stored_name, left.tail.history_due) == ("watched", True)


@RESTARTS
def test_a_live_log_of_a_killed_driver_ends_torn(left: Folder, *, restarted: bool) -> None:
    """It is done, its last health says that it is torn, and it is not read again."""
    left.write("app-1.inprogress", header() + task(1) + task(2)[:20])
    left.read()
    if restarted:
        left.again()
    left.now += DAY + 1
    left.read()

    health = [fact.collector_health for fact in left.facts if kind(fact) == "collector_health"]
    assert (left.tail.state.stored_name, health[-1].torn) == ("done", True)
    for _ in range(2):
        left.now += DAY
        assert left.read() == []
        assert not left.tail.wants_read(left.now)
        left.again()
    assert (left.tasks, left.holes) == ([1], {})


@RESTARTS
@pytest.mark.parametrize("closed", [False, True], ids=["grows", "grows and is closed"])
@pytest.mark.parametrize("cut", [20, None], ids=["half a line", "whole lines"])
def test_a_log_that_was_taken_for_abandoned_goes_on(
    left: Folder, cut: int | None, *, closed: bool, restarted: bool
) -> None:
    """A driver that was idle for days is not dead: each of its facts comes once, under the next number."""
    whole = task(2)
    left.write("app-1.inprogress", header() + task(1) + (whole[:cut] if cut else b""))
    left.read()
    left.now += 2 * DAY
    left.read()
    assert left.tail.state.stored_name == "done"
    if restarted:
        left.now = time.time() + 60  # behind the moment at which the position was written
    left.write("app-1.inprogress", (whole[cut:] if cut else whole) + task(3))
    if restarted:
        left.again()
    if not closed:
        left.read()
        assert left.tail.state.stored_name == "live"
        left.now += 2 * DAY
        left.read()
        assert left.tail.state.stored_name == "done"
        left.now += 1
    left.write("app-1.inprogress", END)
    (left.path / "app-1.inprogress").rename(left.path / "app-1")
    left.now += 100
    left.read()

    assert (left.tasks, left.holes, left.tail.state.stored_name) == ([1, 2, 3], {}, "done")
    assert Counter(map(kind, left.facts))["application_ended"] == 1


@RESTARTS
def test_a_watched_log_that_was_taken_for_abandoned_is_repaired_again(left: Folder, *, restarted: bool) -> None:
    """Its history is due once more when it has ended, and nothing of it is sent live."""
    left.write("app-1.inprogress", header(**PLUGIN) + task(1))
    left.read()
    left.now += 2 * DAY
    left.read()
    assert left.tail.history_due
    left.tail.history_sent()
    assert left.tail.state.stored_name == "done"
    if restarted:
        left.now = time.time() + 60
    left.write("app-1.inprogress", task(2))
    if restarted:
        left.again()

    assert left.read() == []
    assert (left.tail.state.stored_name, left.tail.history_due) == ("watched", False)
    left.write("app-1.inprogress", END)
    assert left.read() == []
    assert left.tail.history_due
    assert left.facts == []


@RESTARTS
def test_a_log_that_was_history_at_first_and_grows_is_history_again(left: Folder, *, restarted: bool) -> None:
    """Nothing of it was sent live, and nothing is: at its end its rows are made anew."""
    left.write("app-1.inprogress", header() + task(1))
    (found,) = find_logs(left.files)
    left.tail = LogTail(found.name, SHIPPER, abandoned=DAY)
    left.tail.found = found
    left.tail.send_only_history()
    left.tail.history_sent()
    assert left.read() == []
    left.now = time.time() + 60 if restarted else left.now + 1
    left.write("app-1.inprogress", task(2))
    if restarted:
        left.again()
    assert left.read() == []
    assert (left.tail.state.stored_name, left.tail.history_due) == ("watched", False)
    left.write("app-1.inprogress", END)

    assert left.read() == []
    assert (left.tail.history_due, left.facts) == (True, [])


def test_growth_that_a_store_gives_no_time_is_growth(left: Folder) -> None:
    """HDFS leaves the time of a file that is written: one that grows is not abandoned, however old it looks."""
    left.write("app-1.inprogress", header() + task(1))
    left.read()
    old = left.now
    left.now += 2 * DAY
    left.write("app-1.inprogress", task(2))
    os.utime(left.path / "app-1.inprogress", (old, old))
    left.read()

    assert (left.tail.state.stored_name, left.tasks) == ("live", [1, 2])
    left.now += DAY + 1
    left.read()
    assert left.tail.state.stored_name == "done"


@pytest.mark.parametrize("end", [END, b""], ids=["ended", "abandoned again"])
def test_a_history_that_was_made_twice_is_history_after_a_restart(left: Folder, end: bytes) -> None:
    """Its position knows the application by then, and still that nothing of it was sent live."""
    left.write("app-1.inprogress", header() + task(1))
    (found,) = find_logs(left.files)
    left.tail = LogTail(found.name, SHIPPER, abandoned=DAY)
    left.tail.found = found
    left.tail.send_only_history()
    left.tail.history_sent()
    left.write("app-1.inprogress", event("JobStart", **{"Job ID": 1, "Submission Time": 70, "Stage IDs": [1]}) + end)
    left.read()
    left.now += 2 * DAY
    left.read()
    assert left.tail.history_due
    left.tail.history_sent()
    assert left.tail.position().app_id == "app-1"
    left.now = time.time() + 60
    left.write("app-1.inprogress", task(2))
    left.again()

    assert left.read() == []
    assert (left.tail.state.stored_name, left.facts) == ("watched", [])


def stand_still(left: Folder, modified: float) -> None:
    """As on HDFS, which leaves the time of a file that is written, or in a store that has none."""
    os.utime(left.path / "app-1.inprogress", (modified, modified))


@pytest.mark.parametrize("time_told", [True, False], ids=["the first time", "no time"])
def test_a_log_whose_time_stands_still_goes_on_after_a_restart(left: Folder, *, time_told: bool) -> None:
    """What was read of it lately, or stands in it anew, says that it lives; without either it is abandoned in a day."""
    left.now = time.time() - 3 * DAY
    old = left.now if time_told else 0.0
    left.write("app-1.inprogress", header() + task(1))
    stand_still(left, old)
    left.read()
    left.now = time.time()
    left.write("app-1.inprogress", task(2))
    stand_still(left, old)
    left.read()
    for later in (60, 2 * DAY):
        left.again()
        left.now += later
        if later > DAY:
            left.write("app-1.inprogress", task(3))
            stand_still(left, old)
        left.read()
        assert left.tail.state.stored_name == "live"
    left.now += DAY - 1
    left.read()
    assert left.tail.state.stored_name == "live"
    left.now += 2
    left.read()

    assert (left.tail.state.stored_name, left.tasks, left.holes) == ("done", [1, 2, 3], {})


@pytest.mark.parametrize("begun", [header() + task(1), header()[:20]], ids=["lines", "half a line"])
def test_a_log_without_a_time_is_not_abandoned_when_it_is_met(left: Folder, begun: bytes) -> None:
    """It stands still for a day before it counts as abandoned, from the first look on."""
    left.write("app-1.inprogress", begun)
    stand_still(left, 0.0)
    for _ in range(2):
        left.read()
        assert left.tail.state.stored_name == "live"
        left.now += DAY - 1
    left.now += 2
    left.read()

    assert left.tail.state.stored_name in {"done", "quarantined"}


def test_a_log_that_stood_still_over_a_restart_is_abandoned_as_without_it(left: Folder) -> None:
    """Its position says since when nothing of it was news, also where its time says nothing."""
    left.now = time.time()
    left.write("app-1.inprogress", header() + task(1))
    stand_still(left, 0.0)
    left.read()
    left.again()
    left.now += DAY + 60
    left.read()

    assert left.tail.state.stored_name == "done"


def test_a_log_that_was_away_goes_on(folder: Folder) -> None:
    """Put away and back, also below another identity, each fact is one."""
    folder.write("app-1.inprogress", header() + task(1) + task(2)[:20])
    folder.read()
    folder.tail.suspend()
    copied = folder.path / "app-1.copy"
    shutil.copy(folder.path / "app-1.inprogress", copied)
    copied.rename(folder.path / "app-1.inprogress")
    folder.write("app-1.inprogress", task(2)[20:] + END)
    folder.read()

    assert (folder.tasks, folder.holes, folder.tail.state.stored_name) == ([1, 2], {}, "done")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello\n" * 10, "not one of its lines says which application it is of"),
        (task(1) * 3, "it does not begin with the start of an application"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "nknown frame descriptor"),
        (b"PK\x03\x04" + b"\0" * 100, "zip"),
    ],
    ids=["text", "no start", "broken zstd", "zip"],
)
def test_what_is_no_log_is_set_aside_with_its_reason(folder: Folder, content: bytes, reason: str) -> None:
    """A poisoned file is told of once and not read again."""
    folder.write("app-1", content)

    assert folder.read() == []
    assert folder.tail.state.stored_name == "quarantined"
    assert reason in folder.tail.reason or folder.tail.reason
    assert not folder.tail.wants_read(NOW)
