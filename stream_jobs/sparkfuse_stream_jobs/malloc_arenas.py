"""Limits the arenas of glibc's ``malloc``, for the JVM of a job and for the Python processes of its steps."""

from __future__ import annotations

import contextlib
import ctypes
import os

SETTING = "MALLOC_ARENA_MAX"
# glibc does not return freed memory of an arena, and has up to eight arenas per core. With more arenas, the memory of
# RocksDB in the JVM and of messages in Python keeps growing.
MAX_ARENAS = 2
# M_ARENA_MAX of malloc.h.
_ARENA_MAX = -8


def limit_arenas() -> None:
    """Limit the arenas of this process and its child processes, unless the environment sets another limit.

    A thread keeps its arena, so call this function before other threads start. Without glibc, this function has no
    effect.
    """
    if SETTING in os.environ:
        return
    os.environ[SETTING] = str(MAX_ARENAS)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, MAX_ARENAS)
