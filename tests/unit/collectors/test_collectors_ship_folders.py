"""Tests which logs of a folder are sent as facts, which as history only, and which are treated as deleted."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sparkfuse_collectors.logs.files import Files, Item, LocalFiles
from sparkfuse_collectors.ship.folders import FORGET_SECONDS, SCANS_UNTIL_MISSING, Ages, Folders
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.generated.position_pb2 import Position

NOW = 2_000_000_000.0
SHIPPER = Shipper("test", "c", "t")


def write(path: Path, age_seconds: float) -> None:
    path.write_bytes(b"x")
    os.utime(path, (NOW - age_seconds, NOW - age_seconds))


@dataclass
class Mounts:
    """A folder with mounts that may be absent or fail; ``root`` is a link to ``real`` while the folder is mounted."""

    root: str
    real: Path
    refused: set[str] = field(default_factory=set)
    device: str = "first"

    def children(self, folder: str) -> Iterator[Item]:
        if folder in self.refused:
            raise PermissionError(13, "Permission denied", folder)
        inside = self.real / Path(folder).relative_to(self.root)
        for item in LocalFiles(str(inside)).children(str(inside)):
            yield item._replace(path=f"{folder}/{item.name}", identity=f"{self.device}:{item.identity}")

    def read(self, path: str, offset: int, size: int) -> bytes:
        return (self.real / Path(path).relative_to(self.root)).read_bytes()[offset : offset + size]

    def identity(self, path: str) -> str:
        (self.real / Path(path).relative_to(self.root)).stat()
        return f"{self.device}:{path}"

    def display_path(self, path: str) -> str:
        return path


def folders(path: Path | Files, *positions: Position) -> tuple[Folders, Counter[str]]:
    problems: Counter[str] = Counter()
    known = {position.log: position for position in positions}
    files = LocalFiles(str(path)) if isinstance(path, Path) else path
    found = Folders([files], SHIPPER, known, Ages(600, 86_400), lambda kind: problems.update([kind]))
    return found, problems


def position(log: str, state: str = "live", updated_ms: int | None = None) -> Position:
    """Return the position of a log after its first byte."""
    known = Position(shipper="test", log=log, app_id="a", app_start_ms=1, read_plain_bytes=1, state=state)
    if updated_ms is not None:
        known.updated_ms = updated_ms
    return known


def states(of: Folders) -> dict[str, tuple[str, bool]]:
    return {Path(tail.name).name: (tail.state.stored_name, tail.history_due) for _, tail in of.tails()}


def test_old_logs_are_sent_as_history_only(tmp_path: Path) -> None:
    """The shipper sends only the history of old logs.

    The shipper also sends the facts of logs that ended less than ten minutes ago or changed within a day. In an object
    store without modification times, the shipper also sends facts of open logs.
    """
    write(tmp_path / "ended-now", 599)
    write(tmp_path / "ended-before", 601)
    write(tmp_path / "runs.inprogress", 86_399)
    write(tmp_path / "left.inprogress", 86_401)
    write(tmp_path / "ageless", NOW)
    write(tmp_path / "ageless-runs.inprogress", NOW)
    found, _ = folders(tmp_path)
    found.scan(NOW)

    assert states(found) == {
        "ended-now": ("live", False),
        "ended-before": ("watched", True),
        "runs": ("live", False),
        "left": ("watched", True),
        "ageless": ("watched", True),
        "ageless-runs": ("live", False),
    }


def test_log_with_a_position_continues_at_any_age(tmp_path: Path) -> None:
    """The shipper continues a log at its position, even after it was stopped for a long time."""
    write(tmp_path / "app", 90_000)
    log = str(tmp_path / "app")
    found, _ = folders(tmp_path, position(log))
    found.scan(NOW)

    assert states(found) == {"app": ("live", False)}


@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("inner", ["eventlog_v2_app/events_1_app", "delivered/eventlog"])
def test_root_that_is_a_log_keeps_its_position(tmp_path: Path, inner: str, end: str) -> None:
    """The position of a log is found whether or not the path of the folder ends with a slash.

    The position of another log is not used.
    """
    inside = tmp_path / inner
    inside.parent.mkdir()
    write(inside, 90_000)
    root = f"/logs/{inside.parent.name}{end}"
    mounts = Mounts(root, inside.parent)
    found, problems = folders(mounts, *(position(name) for name in (root, f"/logs/{inside.parent.name}-2")))

    assert [found.scan(NOW + look * FORGET_SECONDS) for look in range(4)] == [[]] * 4
    assert states(found) == {inside.parent.name: ("live", False)}
    assert problems == {}


def test_log_is_missing_after_three_scans(tmp_path: Path) -> None:
    """A log counts as missing after three scans, so a rename changes nothing.

    A deleted log is reported, and its position is deleted after six hours.
    """
    write(tmp_path / "other", 1)
    write(tmp_path / "app.inprogress", 1)
    found, problems = folders(tmp_path)
    found.scan(NOW)
    (tmp_path / "app.inprogress").rename(tmp_path / ".app")

    assert [found.scan(NOW) for _ in range(SCANS_UNTIL_MISSING - 1)] == [[], []]
    (tmp_path / ".app").rename(tmp_path / "app")
    assert found.scan(NOW) == []
    (tmp_path / "app").unlink()
    assert [found.scan(NOW) for _ in range(SCANS_UNTIL_MISSING)] == [[]] * SCANS_UNTIL_MISSING
    assert problems == {"deleted before its end": 1}
    assert set(states(found)) == {"other"}
    assert found.scan(NOW + FORGET_SECONDS - 1) == []
    assert found.scan(NOW + FORGET_SECONDS) == [str(tmp_path / "app")]
    assert found.scan(NOW + 2 * FORGET_SECONDS) == []
    assert problems == {"deleted before its end": 1}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("live", {"deleted before its end": 1}),
        ("watched", {"deleted before its history": 1}),
        ("done", {}),
        ("quarantined", {}),
    ],
)
def test_logs_deleted_while_stopped_are_forgotten(tmp_path: Path, state: str, expected: dict[str, int]) -> None:
    """Unfinished logs that were deleted while the shipper was stopped are reported.

    The positions of the deleted logs are removed; the positions of logs in other folders are kept.
    """
    write(tmp_path / "here", 1)
    read = [Position(shipper="test", log=str(tmp_path / "went"), state=state)]
    read.append(Position(shipper="test", log=str(tmp_path / "here"), state="live"))
    read.append(Position(shipper="test", log="/elsewhere/app", state="live"))
    found, problems = folders(tmp_path, *read)

    assert [found.scan(NOW) for _ in range(4)] == [[]] * 4
    assert problems == expected
    assert found.scan(NOW + FORGET_SECONDS) == [str(tmp_path / "went")]
    assert found.scan(NOW + 2 * FORGET_SECONDS) == []


@pytest.mark.parametrize("state", ["done", "live", "watched", "quarantined"])
def test_missing_finished_log_is_forgotten_across_restarts(tmp_path: Path, state: str) -> None:
    """The position of a missing log is deleted after six hours, even if the shipper restarts in between.

    For a finished log, the six hours start at the time of its position. For an unfinished log, the six hours restart at
    each start of the shipper.
    """
    write(tmp_path / "here", 1)
    written_ms = int((NOW - FORGET_SECONDS + 600) * 1000)
    went = position(str(tmp_path / "went"), state, written_ms)
    found, _ = folders(tmp_path, position(str(tmp_path / "here"), updated_ms=written_ms), went)
    gone = [found.scan(NOW + minutes * 60) for minutes in (0, 5, 9, 10, 11)]

    assert gone == [[], [], [], [went.log] if state == "done" else [], []]


@pytest.mark.parametrize("problem", ["empty", "not listed", "another folder"])
def test_start_without_visible_logs_deletes_no_position(tmp_path: Path, problem: str) -> None:
    """If a folder is not mounted when the shipper starts, no position is deleted, not even an old one."""
    point = tmp_path / "point"
    point.mkdir()
    mounts = Mounts("/logs", point)
    if problem == "not listed":
        mounts.refused.add("/logs")
    if problem == "another folder":
        write(point / "unknown", 1)
    found, _ = folders(mounts, position("/logs/went", "done", 1000), position("/logs/here", "done", 1000))
    assert [found.scan(NOW + look * 60) for look in range(5)] == [[]] * 5
    mount = tmp_path / "mount"
    mount.mkdir()
    write(mount / "here", 1)
    mounts.real, mounts.device = mount, "second"
    mounts.refused.clear()

    gone = [found.scan(NOW + FORGET_SECONDS + minutes * 60) for minutes in (1, 2, 3, 4, 5)]

    assert gone[:3] == [[]] * 3
    assert [name for names in gone for name in names] == ["/logs/went"]


def test_deleted_log_with_due_history_is_reported(tmp_path: Path) -> None:
    """If a log is deleted before its history was read, the history is lost and the loss is reported."""
    write(tmp_path / "other", 1)
    write(tmp_path / "old", 700)
    found, problems = folders(tmp_path)
    found.scan(NOW)
    assert states(found)["old"] == ("watched", True)
    (tmp_path / "old").unlink()
    for _ in range(SCANS_UNTIL_MISSING + 1):
        found.scan(NOW)

    assert problems == {"deleted before its history": 1}


@pytest.mark.parametrize("known", [True, False], ids=["at run time", "after a restart"])
def test_logs_below_an_unlisted_folder_are_not_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    """A rolled log whose folder cannot be listed is counted as a problem, logged once, and kept."""
    caplog.set_level(logging.WARNING)
    rolled = tmp_path / "eventlog_v2_app"
    rolled.mkdir()
    write(rolled / "events_1_app", 1)
    write(tmp_path / "other", 1)
    mounts = Mounts("/logs", tmp_path)
    positions = [Position(shipper="test", log=f"/logs/{name}", state="live") for name in ("other", rolled.name)]
    found, problems = folders(mounts, *([] if known else positions))
    if known:
        found.scan(NOW)
    mounts.refused.add(f"/logs/{rolled.name}")
    gone = [found.scan(NOW + FORGET_SECONDS * look) for look in range(5)]
    mounts.refused.clear()

    assert gone == [[]] * 5
    assert problems == {"unreadable": 5}
    assert len(caplog.messages) == 1
    tails = {tail.name for _, tail in found.tails()}
    assert (f"/logs/{rolled.name}" in tails) == known
    assert found.scan(NOW + 6 * FORGET_SECONDS) == []
    assert states(found) == {rolled.name: ("live", False), "other": ("live", False)}
    assert problems == {"unreadable": 5}


def test_logs_of_an_absent_subfolder_continue(tmp_path: Path) -> None:
    """If a subfolder is unmounted, its logs are reported as missing after three scans.

    The logs continue when the subfolder is mounted again.
    """
    write(tmp_path / "other", 1)
    (tmp_path / "team").mkdir()
    write(tmp_path / "team" / "app.inprogress", 1)
    found, problems = folders(tmp_path)
    found.scan(NOW)
    before = {tail.name: tail for _, tail in found.tails()}
    (tmp_path / "team").rename(tmp_path / ".team")
    gone = [found.scan(NOW + look * FORGET_SECONDS / 10) for look in range(9)]
    (tmp_path / ".team").rename(tmp_path / "team")

    assert gone == [[]] * 9
    assert found.scan(NOW + FORGET_SECONDS) == []
    assert {tail.name: tail for _, tail in found.tails()} == before
    assert problems == {"deleted before its end": 1}


@pytest.mark.parametrize("restarted", [False, True], ids=["at run time", "after a restart"])
@pytest.mark.parametrize("unknown_files", [False, True], ids=["empty", "unknown files"])
def test_mount_point_without_its_mount_keeps_positions(tmp_path: Path, *, restarted: bool, unknown_files: bool) -> None:
    """If a mount returns, its logs continue at their positions, however long the mount was absent.

    Files in the bare mount point are accepted as the folder's content only after six hours.
    """
    mount, point = tmp_path / "mount", tmp_path / "point"
    mount.mkdir()
    point.mkdir()
    write(mount / "app", 1)
    write(mount / "deleted", 1)
    mounts = Mounts("/logs", mount)
    positions = [Position(shipper="test", log=f"/logs/{name}", state="live") for name in ("app", "deleted")]
    found, _ = folders(mounts, *(positions if restarted else []))
    if not restarted:
        found.scan(NOW)
    mounts.real, mounts.device = point, "point"
    step = FORGET_SECONDS / 9 if unknown_files else FORGET_SECONDS
    for look in range(9):
        if unknown_files:
            write(point / f"unknown-{look}", 1)
        assert found.scan(NOW + look * step) == []
    (mount / "deleted").unlink()
    mounts.real, mounts.device = mount, "second"
    back = NOW + 8 * step + 2

    assert found.scan(back) == []
    assert states(found)["app"] == ("live", False)
    assert found.scan(back + FORGET_SECONDS - 3) == []
    assert "/logs/deleted" in found.scan(back + FORGET_SECONDS)


@pytest.mark.parametrize("restarted", [False, True], ids=["at run time", "after a restart"])
def test_recreated_folder_is_accepted_after_six_hours(tmp_path: Path, *, restarted: bool) -> None:
    """If a folder is recreated and its known logs never return, their positions are deleted after six hours.

    Logs that appeared in the new folder are treated like those of any folder.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    write(old / "app", 1)
    mounts = Mounts("/logs", old)
    found, _ = folders(mounts, *([position("/logs/app")] if restarted else []))
    if not restarted:
        found.scan(NOW)
    mounts.real, mounts.device = new, "second"
    gone: dict[int, list[str]] = {}
    for hour in range(20):
        write(new / f"app-{hour}", 1)
        (new / f"app-{hour - 1}").unlink(missing_ok=True)
        for minute in range(SCANS_UNTIL_MISSING):
            if names := found.scan(NOW + hour * 3600 + minute * 60):
                gone[hour] = sorted(names)
    (folder,) = found._folders

    assert gone == {
        11: [f"/logs/{name}" for name in ("app", "app-0", "app-1", "app-2", "app-3", "app-4")],
        **{hour: [f"/logs/app-{hour - 7}"] for hour in range(12, 20)},
    }
    assert folder.new_in_replacement == set()
    assert len(folder.absent) == len(folder.missing) == 6


@pytest.mark.parametrize("between", ["empty", "not listed", "a third folder"])
def test_replacement_needs_logs_for_six_hours_without_a_break(tmp_path: Path, between: str) -> None:
    """A replaced folder is accepted after six hours in which each scan found logs.

    A scan without logs, a failed scan or a third folder restarts the six hours.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    write(old / "app", 1)
    mounts = Mounts("/logs", old)
    found, _ = folders(mounts)
    found.scan(NOW)
    mounts.real, mounts.device = new, "second"
    write(new / "unknown", 1)
    for look in range(3):
        found.scan(NOW + look * 60)
    if between == "empty":
        (new / "unknown").unlink()
    elif between == "not listed":
        mounts.refused.add("/logs")
    else:
        mounts.device = "third"
    found.scan(NOW + FORGET_SECONDS / 2)
    write(new / "unknown", 1)
    mounts.refused.clear()
    mounts.device = "second"
    begun = NOW + FORGET_SECONDS / 2 + 60
    gone = [found.scan(begun + hours * 3600) for hours in (0, 5, 6, 10)]

    assert gone == [[]] * 4
    assert "/logs/app" in found.scan(begun + 11 * 3600)


def test_unlisted_folder_keeps_its_logs(tmp_path: Path) -> None:
    """If a folder cannot be listed, the scan is counted as failed and retried; its logs are not treated as deleted."""
    logs = tmp_path / "logs"
    logs.mkdir()
    write(logs / "app", 1)
    found, problems = folders(logs)
    found.scan(NOW)
    logs.rename(tmp_path / "away")
    gone = [found.scan(NOW) for _ in range(SCANS_UNTIL_MISSING + 1)]
    (tmp_path / "away").rename(logs)

    assert gone == [[]] * (SCANS_UNTIL_MISSING + 1)
    assert found.scan(NOW) == []
    assert problems == {"unreadable": SCANS_UNTIL_MISSING + 1}
    assert states(found) == {"app": ("live", False)}


@pytest.mark.parametrize("name", [".hidden", "app.crc", "appstatus_app"])
def test_files_beside_logs_are_ignored(tmp_path: Path, name: str) -> None:
    """Hidden, checksum and marker files are not logs."""
    write(tmp_path / name, 1)
    found, _ = folders(tmp_path)
    found.scan(NOW)

    assert states(found) == {}
