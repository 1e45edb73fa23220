from __future__ import annotations

import os
from pathlib import Path

from sparkfuse_stream_jobs.checkpoints import latest_checkpoint, remove_outdated
from sparkfuse_stream_jobs.process import is_unfitting_checkpoint

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
    of_flink = (
        "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint file:/x. Cannot map "
        "checkpoint/savepoint state for operator 2f1 to the new program, because the operator is not available in "
        "the new program."
    )

    assert is_unfitting_checkpoint(of_flink)
    assert not is_unfitting_checkpoint("org.apache.kafka.common.errors.TimeoutException: no answer")
