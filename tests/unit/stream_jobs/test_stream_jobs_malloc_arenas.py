"""Tests the limit of malloc arenas in a separate process, because the limit cannot be undone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sparkfuse_stream_jobs.malloc_arenas import MAX_ARENAS, SETTING

# Sixteen threads hold allocated memory at the same time; then glibc's malloc_info counts the heaps.
THREADS = """
import ctypes, os, sys, tempfile, threading
from sparkfuse_stream_jobs.malloc_arenas import SETTING, limit_arenas
if sys.argv[1] == "limited":
    limit_arenas()
together = threading.Barrier(17)
def hold():
    held = [bytes(2000 + number) for number in range(100)]
    together.wait()
    together.wait()
    del held
for _ in range(16):
    threading.Thread(target=hold).start()
together.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]
with tempfile.NamedTemporaryFile("r") as info:
    stream = libc.fopen(info.name.encode(), b"w")
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(info.read().count("<heap nr="), os.environ.get(SETTING, ""))
together.wait()
"""


def heaps(how: str, **variables: str) -> tuple[int, str]:
    """Return the number of malloc heaps and the value of the environment variable."""
    environment = {name: value for name, value in os.environ.items() if name != SETTING}
    done = subprocess.run(
        [sys.executable, "-c", THREADS, how],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    count, _, setting = done.stdout.strip().partition(" ")
    return int(count), setting


def test_threads_and_child_processes_share_two_arenas():
    """With the limit, sixteen threads and child processes use two arenas. Without the limit they use more arenas."""
    assert heaps("default")[0] > MAX_ARENAS
    assert heaps("limited") == (MAX_ARENAS, str(MAX_ARENAS))


@pytest.mark.parametrize("number", ["1", "5"])
def test_environment_overrides_the_number_of_arenas(number: str):
    """If the environment sets a number of arenas, this number stays unchanged."""
    assert heaps("limited", **{SETTING: number}) == (int(number), number)
