"""Finds the checkpoint from which a job restarts in a local folder, and removes outdated ones.

A Flink cluster with high availability finds its checkpoints itself. ``python -m sparkfuse_stream_jobs.checkpoints
FOLDER`` prints the address of the newest checkpoint, if there is one, and removes outdated checkpoints.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

RETAINED_CHECKPOINTS = 3
# First bytes of the metadata of a checkpoint: org.apache.flink.runtime.checkpoint.Checkpoints.HEADER_MAGIC_NUMBER.
_MAGIC = bytes.fromhex("4960672d")


def checkpoint_directory(home: Path, name: str) -> Path:
    """Return the folder in which the job ``name`` writes its checkpoints."""
    return (home / "checkpoints" / name).absolute()


def latest_checkpoint(directory: Path) -> Path | None:
    """Return the newest complete checkpoint below ``directory``, or None if there is none.

    Flink writes ``_metadata`` last and renames it into place, so a checkpoint with a readable ``_metadata`` is
    complete. Each start of a job writes into a new folder, so checkpoints are compared by time and not by number.
    """
    return next(iter(_complete(directory)), None)


def remove_outdated(directory: Path, keep: int = RETAINED_CHECKPOINTS) -> None:
    """Remove the checkpoints of earlier starts, except for the newest ``keep``.

    No job may write below ``directory`` at the same time. Folders that a retained checkpoint mentions are kept too:
    incremental checkpoints use files of earlier starts.
    """
    kept = _complete(directory)[:keep]
    mentioned = b"".join((checkpoint / "_metadata").read_bytes() for checkpoint in kept)
    for start in directory.glob("*"):
        if start.name.encode() not in mentioned and not any(checkpoint.parent == start for checkpoint in kept):
            shutil.rmtree(start, ignore_errors=True)
    for checkpoint in directory.glob("*/chk-*"):
        if checkpoint not in kept:
            shutil.rmtree(checkpoint, ignore_errors=True)


def _complete(directory: Path) -> list[Path]:
    # A savepoint is renamed to a checkpoint after it was written.
    paths = [path for kind in ("chk", "savepoint") for path in directory.glob(f"*/{kind}-*/_metadata")]
    found = [(age, path.parent) for path in paths if (age := _age_key(path)) is not None]
    return [checkpoint for _, checkpoint in sorted(found, reverse=True)]


def _age_key(metadata: Path) -> tuple[int, int] | None:
    """Return a key that is higher for newer checkpoints; None if the checkpoint is incomplete or was removed."""
    number = metadata.parent.name.removeprefix("chk-")
    try:
        with metadata.open("rb") as file:
            is_whole = file.read(len(_MAGIC)) == _MAGIC
            age_ns = os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None
    return (age_ns, int(number) if number.isdigit() else 0) if is_whole else None


def main() -> int:
    """Print the address of the newest checkpoint in the folder that the argument names."""
    directory = Path(sys.argv[1])
    remove_outdated(directory)
    checkpoint = latest_checkpoint(directory)
    print(checkpoint.as_uri() if checkpoint else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
