"""Where a job keeps its checkpoints on disk, and which of them it goes on from."""

from __future__ import annotations

import os
from pathlib import Path

# How the metadata of every checkpoint begins: org.apache.flink.runtime.checkpoint.Checkpoints.HEADER_MAGIC_NUMBER.
_MAGIC = bytes.fromhex("4960672d")


def checkpoint_directory(home: Path, name: str) -> Path:
    """The folder under which the job ``name`` writes all its checkpoints."""
    return (home / "checkpoints" / name).absolute()


def latest_checkpoint(directory: Path) -> Path | None:
    """The newest complete checkpoint below ``directory``, or None when there is none to go on from.

    Flink writes ``_metadata`` last and renames it into place, so a checkpoint that has a readable one is whole.
    Each start of a job writes into a folder of its own, hence newest means by time and not by number.
    """
    complete = [path.parent for path in directory.glob("*/chk-*/_metadata") if _is_readable(path)]
    return max(complete, key=_age_key, default=None)


def remove_empty_folders(directory: Path) -> None:
    """Remove what earlier starts left behind: folders without any file, never a checkpoint."""
    for folder, _, _ in os.walk(directory, topdown=False):
        if Path(folder) != directory:
            _remove_if_empty(Path(folder))


def _age_key(checkpoint: Path) -> tuple[int, int]:
    number = checkpoint.name.removeprefix("chk-")
    return (checkpoint / "_metadata").stat().st_mtime_ns, int(number) if number.isdigit() else 0


def _is_readable(metadata: Path) -> bool:
    try:
        with metadata.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
