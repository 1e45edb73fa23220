from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.checkpoints import latest_checkpoint, remove_outdated
from sparkfuse_stream_jobs.process import is_unfitting_checkpoint, run_job

OF_FLINK = (
    "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint file:/x. Cannot map "
    "checkpoint/savepoint state for operator 2f1 to the new program, because the operator is not available in "
    "the new program."
)
MAGIC = bytes.fromhex("4960672d")


def checkpoint(directory: Path, start: str, number: int, at: int, content: bytes = MAGIC) -> Path:
    """A checkpoint of one start of the job, written ``at`` seconds."""
    folder = directory / start / f"chk-{number}"
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(content)
    os.utime(folder / "_metadata", (at, at))
    return folder


def test_the_newest_complete_checkpoint_is_found_over_all_starts(tmp_path: Path) -> None:
    """Newest is by time, since each start counts from 1 anew; torn and unfinished ones do not count."""
    checkpoint(tmp_path, "first", 90, at=100)
    newest = checkpoint(tmp_path, "second", 2, at=200)
    checkpoint(tmp_path, "second", 3, at=300, content=b"")
    (tmp_path / "second" / "chk-4").mkdir()

    assert latest_checkpoint(tmp_path) == newest


def test_without_a_checkpoint_a_job_starts_anew(tmp_path: Path) -> None:
    """A folder that is empty or not there has none."""
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "absent") is None


def test_what_kept_checkpoints_mention_stays(tmp_path: Path) -> None:
    """Older checkpoints go, but no folder of an earlier start whose files a kept one still uses."""
    checkpoint(tmp_path, "aaaa", 1, at=100)
    checkpoint(tmp_path, "bbbb", 7, at=200)
    (tmp_path / "bbbb" / "shared").mkdir()
    kept = checkpoint(tmp_path, "cccc", 1, at=300, content=MAGIC + b"file:/x/bbbb/shared/1")

    remove_outdated(tmp_path, keep=1)

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*")) == [
        "bbbb/shared",
        "cccc/chk-1",
    ]
    assert latest_checkpoint(tmp_path) == kept


def test_a_checkpoint_of_another_version_is_told_from_other_ends() -> None:
    """Only then is it of use to say which folder to remove."""
    assert is_unfitting_checkpoint(OF_FLINK)
    assert not is_unfitting_checkpoint("org.apache.kafka.common.errors.TimeoutException: no answer")


@pytest.mark.parametrize("fits", [False, True])
def test_a_start_from_a_checkpoint_of_another_version_says_what_to_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fits: bool
) -> None:
    """Flink refuses it before the job runs: one sentence, no page of Java; other failures stay as they are."""

    @contextlib.contextmanager
    def submit(_settings: Settings) -> Iterator[None]:
        raise RuntimeError("java.lang.OutOfMemoryError" if fits else OF_FLINK)
        yield

    monkeypatch.setattr(signal, "signal", lambda *_: None)  # a test's process keeps its own
    monkeypatch.setenv("SPARKFUSE_HOME", str(tmp_path))

    if fits:
        with pytest.raises(RuntimeError, match="OutOfMemory"):
            run_job("detect", submit)
        return
    assert run_job("detect", submit) == 2
    told = capsys.readouterr().err
    assert f"remove {tmp_path / 'checkpoints' / 'detect'} to begin without what it remembers" in told
    assert "Traceback" not in told
