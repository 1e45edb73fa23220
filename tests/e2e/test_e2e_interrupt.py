"""`sparkfuse up` is interrupted while it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(1_800)
# A background process of a shell ignores SIGINT, and so do its children; a user at a terminal has the default.
IN_A_TERMINAL = ("env", "--default-signal=INT")


def test_ctrl_c_stops_all_processes(tmp_path: Path) -> None:
    """Ctrl-C stops every process of the stack, even while the stack is still starting."""
    home = tmp_path / "home"
    up = subprocess.Popen(
        [*IN_A_TERMINAL, sys.executable, "-m", "sparkfuse.main", "up", "--home", str(home), "--free-ports"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: len(of_home(home)) >= 2, 120, "the first processes")
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(120)

    # A tool that runs for a moment, such as Kafka's for a new id, may be about to end by itself.
    wait_for(lambda: not of_home(home), 10, f"the end of {of_home(home)}")


def of_home(home: Path) -> list[str]:
    """Return the command lines of other processes that have the home folder in their command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if int(folder.name) != os.getpid() and str(home) in f"{line} {environment}":
            found.append(line)
    return found
