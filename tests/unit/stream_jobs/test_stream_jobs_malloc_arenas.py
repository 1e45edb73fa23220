"""The arenas of malloc, in a process of its own: what was kept once stays kept."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sparkfuse_stream_jobs.malloc_arenas import MOST, SETTING

# Sixteen threads that hold what they allocated at the same time, and what glibc says of its heaps then.
THREADS = """
import ctypes, os, sys, tempfile, threading
from sparkfuse_stream_jobs.malloc_arenas import SETTING, bound_arenas
if sys.argv[1] == "bound":
    bound_arenas()
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
with tempfile.NamedTemporaryFile("r") as told:
    stream = libc.fopen(told.name.encode(), b"w")
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(told.read().count("<heap nr="), os.environ.get(SETTING, ""))
together.wait()
"""


def heaps(how: str, **said: str) -> tuple[int, str]:
    """How many heaps there are, and what the environment says then."""
    environment = {name: value for name, value in os.environ.items() if name != SETTING}
    done = subprocess.run(
        [sys.executable, "-c", THREADS, how], env={**environment, **said}, capture_output=True, text=True, check=True
    )
    count, _, setting = done.stdout.strip().partition(" ")
    return int(count), setting


def test_threads_share_two_arenas_and_what_is_started_has_as_many():
    """Without it sixteen threads have more, which shows that they were asked for."""
    assert heaps("as it is")[0] > MOST
    assert heaps("bound") == (MOST, str(MOST))


@pytest.mark.parametrize("said", ["1", "5"])
def test_who_starts_the_job_may_say_how_many(said: str):
    assert heaps("bound", **{SETTING: said}) == (int(said), said)
