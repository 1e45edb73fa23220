"""Ensures that at most one stack runs in each home folder."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from sparkfuse.stack.errors import StartError


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Lock the home folder while the block runs, so that no second stack writes to it.

    Raises:
        StartError: another stack runs in this folder.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StartError(f"a stack already runs in {home}: stop it, or choose another --home") from error
        yield
