"""All logs of a folder: which are news, which are history, and which are gone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from sparkfuse_collectors.logs.files import LocalFiles
from sparkfuse_collectors.ship.folders import LOOKS_UNTIL_GONE, Ages, Folders
from sparkfuse_collectors.ship.translate import Shipper
from sparkfuse_contracts.generated.position_pb2 import Position

NOW = 2_000_000_000.0
SHIPPER = Shipper("test", "c", "t")


def write(path: Path, age_seconds: float) -> None:
    path.write_bytes(b"x")
    os.utime(path, (NOW - age_seconds, NOW - age_seconds))


def folders(path: Path, *positions: Position) -> tuple[Folders, Counter[str]]:
    troubles: Counter[str] = Counter()
    known = {position.log: position for position in positions}
    found = Folders([LocalFiles(str(path))], SHIPPER, known, Ages(600, 86_400), lambda kind: troubles.update([kind]))
    return found, troubles


def states(of: Folders) -> dict[str, tuple[str, bool]]:
    return {Path(tail.name).name: (tail.state, tail.history_due) for _, tail in of.tails()}


def test_what_is_old_when_it_is_first_seen_is_history(tmp_path: Path) -> None:
    """What ended ten minutes ago, or stood still in progress for a day, is not sent live; what is newer is."""
    write(tmp_path / "ended-now", 599)
    write(tmp_path / "ended-before", 601)
    write(tmp_path / "runs.inprogress", 86_399)
    write(tmp_path / "left.inprogress", 86_401)
    found, _ = folders(tmp_path)
    found.look(NOW)

    assert states(found) == {
        "ended-now": ("live", False),
        "ended-before": ("watched", True),
        "runs": ("live", False),
        "left": ("watched", True),
    }


def test_a_position_decides_before_any_age(tmp_path: Path) -> None:
    """What was being shipped is shipped on, however long the shipper was away."""
    write(tmp_path / "app", 90_000)
    log = str(tmp_path / "app")
    position = Position(shipper="test", log=log, app_id="a", app_start_ms=1, read_plain_bytes=1, state="live")
    found, _ = folders(tmp_path, position)
    found.look(NOW)

    assert states(found) == {"app": ("live", False)}


def test_a_log_is_gone_after_three_looks(tmp_path: Path) -> None:
    """A look that falls into a renaming forgets nothing; a log that stays away is forgotten, counted when unread."""
    write(tmp_path / "app.inprogress", 1)
    found, troubles = folders(tmp_path)
    found.look(NOW)
    (tmp_path / "app.inprogress").rename(tmp_path / ".app")

    assert [found.look(NOW) for _ in range(LOOKS_UNTIL_GONE - 1)] == [[], []]
    (tmp_path / ".app").rename(tmp_path / "app")
    assert found.look(NOW) == []
    (tmp_path / "app").unlink()
    gone = [found.look(NOW) for _ in range(LOOKS_UNTIL_GONE)]

    assert gone == [[], [], [str(tmp_path / "app")]]
    assert troubles == {"deleted before its end": 1}


def test_logs_that_went_while_no_shipper_ran_are_forgotten(tmp_path: Path) -> None:
    """Their positions are deleted, those of other folders stay."""
    write(tmp_path / "here", 1)
    read = [Position(shipper="test", log=str(tmp_path / "went"), state="done")]
    read.append(Position(shipper="test", log="/elsewhere/app", state="live"))
    found, troubles = folders(tmp_path, *read)

    assert [found.look(NOW) for _ in range(4)] == [[], [], [str(tmp_path / "went")], []]
    assert troubles == {}


def test_a_folder_that_cannot_be_listed_loses_nothing(tmp_path: Path) -> None:
    """A mount that is away is counted and tried again; its logs are not taken for deleted."""
    logs = tmp_path / "logs"
    logs.mkdir()
    write(logs / "app", 1)
    found, troubles = folders(logs)
    found.look(NOW)
    logs.rename(tmp_path / "away")
    gone = [found.look(NOW) for _ in range(LOOKS_UNTIL_GONE + 1)]
    (tmp_path / "away").rename(logs)

    assert gone == [[]] * (LOOKS_UNTIL_GONE + 1)
    assert found.look(NOW) == []
    assert troubles == {"unreadable": LOOKS_UNTIL_GONE + 1}
    assert states(found) == {"app": ("live", False)}


@pytest.mark.parametrize("name", [".hidden", "app.crc", "appstatus_app"])
def test_what_lies_beside_logs_is_none(tmp_path: Path, name: str) -> None:
    """Marks and checksums are passed over."""
    write(tmp_path / name, 1)
    found, _ = folders(tmp_path)
    found.look(NOW)

    assert states(found) == {}
