"""Tests with which state backends a job starts, without Flink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkfuse_stream_jobs import state_backend
from sparkfuse_stream_jobs.checkpoints import latest_checkpoint
from sparkfuse_stream_jobs.state_backend import PORTABLE, start_with_backend


class Starts:
    """Starts a job whose stop writes a savepoint, and records the backends."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self.backends: list[str] = []
        monkeypatch.setattr(state_backend, "_stop_with_savepoint", self._stop)

    def start(self, wanted: str) -> list[str]:
        """Return the backends with which a start of the job runs."""
        self.backends.clear()
        start_with_backend(self._directory, wanted, self.backends.append)
        return list(self.backends)

    def checkpoint(self, folder: str, number: int) -> Path:
        """Write a checkpoint of the job."""
        path = self._directory / folder / f"chk-{number}" / "_metadata"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes.fromhex("4960672d"))
        return path.parent

    def _stop(self, _job: Any, directory: Path) -> None:
        assert directory == self._directory
        self.backends.append("savepoint")
        self.checkpoint(PORTABLE, len(list(directory.glob("*/*"))))


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starts:
    """Return a job without saved state."""
    return Starts(tmp_path / "windows", monkeypatch)


def test_first_start_needs_no_conversion(starts: Starts) -> None:
    """Without saved state, the job starts once with the backend of the setting."""
    assert starts.start("hashmap") == ["hashmap"]


def test_changed_backend_converts_the_state_once(starts: Starts) -> None:
    """After a change, the job stops with a savepoint of the last backend; later starts do not convert again."""
    starts.checkpoint("a", 1)  # of a release without this setting, which always used RocksDB

    assert starts.start("rocksdb") == ["rocksdb"]
    assert starts.start("hashmap") == ["rocksdb", "savepoint", "hashmap"]
    starts.checkpoint("b", 2)
    assert starts.start("hashmap") == ["hashmap"]
    assert starts.start("rocksdb") == ["hashmap", "savepoint", "rocksdb"]


def test_savepoint_is_restored_by_each_backend(starts: Starts) -> None:
    """If the job is killed after the savepoint, its next start does not need the last backend again."""
    starts.checkpoint("a", 1)

    assert starts.start("hashmap") == ["rocksdb", "savepoint", "hashmap"]
    assert starts.start("rocksdb") == ["rocksdb"]


def test_savepoint_counts_before_it_is_renamed(starts: Starts, tmp_path: Path) -> None:
    """A kill of the process between the savepoint and its renaming loses no state."""
    written = starts.checkpoint(PORTABLE, 1)
    savepoint = written.rename(written.with_name("savepoint-1a2b3c-4d5e6f"))

    assert latest_checkpoint(tmp_path / "windows") == savepoint
    assert starts.start("hashmap") == ["hashmap"]
