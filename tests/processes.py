"""Processes that a test started or found, seen from outside."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not fetched by its parent yet (a zombie) does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or before it was read
        return False
