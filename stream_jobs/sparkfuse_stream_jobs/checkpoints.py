"""Where a job keeps its checkpoints on disk, and which of them it goes on from."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

KEPT = 3
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
    return next(iter(_complete(directory)), None)


def remove_outdated(directory: Path, keep: int = KEPT) -> None:
    """Remove what killed starts left behind; call it only while no job writes there.

    The newest ``keep`` checkpoints stay, with every folder that they mention: an incremental checkpoint goes on using
    files that an earlier start wrote.
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
    found = [(age, path.parent) for path in directory.glob("*/chk-*/_metadata") if (age := _age_key(path)) is not None]
    return [checkpoint for _, checkpoint in sorted(found, reverse=True)]


def _age_key(metadata: Path) -> tuple[int, int] | None:
    """What is higher the newer the checkpoint is; None for one that is not whole, or was removed since it was seen."""
    number = metadata.parent.name.removeprefix("chk-")
    try:
        with metadata.open("rb") as file:
            is_whole = file.read(len(_MAGIC)) == _MAGIC
            age_ns = os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None
    return (age_ns, int(number) if number.isdigit() else 0) if is_whole else None
