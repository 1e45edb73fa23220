"""How many arenas glibc's ``malloc`` keeps for a job: for its JVM, and for the Python that its steps run in."""

from __future__ import annotations

import contextlib
import ctypes
import os

SETTING = "MALLOC_ARENA_MAX"
# glibc keeps room that was given back, in eight arenas for each core: of RocksDB in the JVM, so that it grows on beyond
# RocksDB's bound, and of messages in Python, whose steps are threads.
MOST = 2
# M_ARENA_MAX of malloc.h.
_ARENA_MAX = -8


def bound_arenas() -> None:
    """Keep two from now on, here and in processes that are started from here, unless whoever started us said how many.

    Threads that have an arena already keep it, so this belongs before the steps. Without glibc nothing happens here.
    """
    if SETTING in os.environ:
        return
    os.environ[SETTING] = str(MOST)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, MOST)
