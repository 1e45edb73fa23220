from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.checkpoints import latest_checkpoint, remove_outdated
from sparkfuse_stream_jobs.process import run_job
from sparkfuse_stream_jobs.state_refusal import is_refusal

INCOMPATIBLE = (
    "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint file:/x. Cannot map "
    "checkpoint/savepoint state for operator 2f1 to the new program, because the operator is not available in "
    "the new program."
)
MAGIC = bytes.fromhex("4960672d")


def checkpoint(directory: Path, start: str, number: int, at: int, content: bytes = MAGIC) -> Path:
    """Create a checkpoint of one start of the job, with the modification time ``at`` in seconds since the epoch."""
    folder = directory / start / f"chk-{number}"
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(content)
    os.utime(folder / "_metadata", (at, at))
    return folder


def test_newest_complete_checkpoint_of_all_starts_is_found(tmp_path: Path) -> None:
    """The newest complete checkpoint is found by its time.

    The number of the checkpoint cannot be used, because each start of the job numbers checkpoints from 1.
    """
    checkpoint(tmp_path, "first", 90, at=100)
    newest = checkpoint(tmp_path, "second", 2, at=200)
    checkpoint(tmp_path, "second", 3, at=300, content=b"")
    (tmp_path / "second" / "chk-4").mkdir()

    assert latest_checkpoint(tmp_path) == newest


def test_empty_or_missing_folder_has_no_checkpoint(tmp_path: Path) -> None:
    """Without a checkpoint the job starts with empty state."""
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "absent") is None


def test_folders_of_retained_checkpoints_stay(tmp_path: Path) -> None:
    """Older checkpoints are removed, except files that a retained checkpoint still uses."""
    checkpoint(tmp_path, "aaaa", 1, at=100)
    checkpoint(tmp_path, "bbbb", 7, at=200)
    (tmp_path / "bbbb" / "shared").mkdir()
    retained = checkpoint(tmp_path, "cccc", 1, at=300, content=MAGIC + b"file:/x/bbbb/shared/1")

    remove_outdated(tmp_path, keep=1)

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*")) == [
        "bbbb/shared",
        "cccc/chk-1",
    ]
    assert latest_checkpoint(tmp_path) == retained


@pytest.mark.parametrize(
    "reason",
    [
        INCOMPATIBLE,
        "org.apache.flink.util.StateMigrationException: The new state serializer must not be incompatible with the old",
        "java.lang.IllegalStateException: The saved state has format 2, which is newer than this release",
        "sparkfuse_stream_jobs.detect.state.codec.SavedStateError: the saved state is of another release",
    ],
)
def test_refused_state_is_recognised(reason: str) -> None:
    """Saved state that does not fit is distinguished from other failures of the start."""
    assert is_refusal(reason)
    assert not is_refusal("org.apache.kafka.common.errors.TimeoutException: no answer")


@pytest.mark.parametrize("other_failure", [False, True])
def test_refusal_names_the_runbook_and_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], other_failure: bool
) -> None:
    """If saved state does not fit, the error names the runbook and the folder with the state.

    Other errors are raised unchanged.
    """

    @contextlib.contextmanager
    def submit(_settings: Settings) -> Iterator[None]:
        raise RuntimeError("java.lang.OutOfMemoryError" if other_failure else INCOMPATIBLE)
        yield

    monkeypatch.setattr(signal, "signal", lambda *_: None)  # keep the handlers of the test process
    monkeypatch.setenv("SPARKFUSE_HOME", str(tmp_path))

    if other_failure:
        with pytest.raises(RuntimeError, match="OutOfMemory"):
            run_job("detect", submit)
        return
    assert run_job("detect", submit) == 2
    output = capsys.readouterr().err
    assert "Start the last release again, or start this release without saved state" in output
    assert "(docs/runbooks/upgrade.md)" in output
    assert f"If you remove {tmp_path / 'checkpoints' / 'detect'}," in output
    assert "Traceback" not in output
