"""Runs a job in a mini cluster until its standard input says how to stop.

``python -m tests.integration.stream_jobs.savepoint_job windows|detect``: a line of the input is the folder in which the
stopped job writes a savepoint; the end of the input stops the job without one. ``--release`` selects a simulated
release of the windows job (``next_release.py``). ``--watch`` runs the job until it ends by itself, and returns the exit
code of ``run_job``. The windows job sends no ticks and accepts every topic, so that the timestamps of the test's facts
decide its time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs import windows
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from sparkfuse_stream_jobs.detect.__main__ import submit as submit_detect
from sparkfuse_stream_jobs.detect.job import Options
from sparkfuse_stream_jobs.environment import table_environment
from sparkfuse_stream_jobs.operator_uids import start
from sparkfuse_stream_jobs.process import run_job
from sparkfuse_stream_jobs.state_backend import OPTION, start_with_backend
from tests.integration.stream_jobs import next_release

RELEASES: Mapping[str, tuple[Callable[[str, Settings], str], Mapping[str, str]]] = {
    "this": (windows.statement, windows.UIDS),
    "later": (next_release.statement, next_release.UIDS),
    "incompatible": (next_release.changed_in_place, windows.UIDS),
}


@contextlib.contextmanager
def submit_windows(release: str, settings: Settings) -> Iterator[Any]:
    """Start the windows job of a release, and yield its client."""
    read, uids = RELEASES[release]

    def start_with(backend: str) -> Any:
        options = {"taskmanager.memory.managed.size": "64m", OPTION: backend}
        environment, tables = table_environment("windows", settings, mini_cluster=options)
        return start(environment, windows.define(tables, settings, read), uids)

    directory = checkpoint_directory(settings.home, "windows")
    yield start_with_backend(directory, settings.windows_state_backend, start_with)


def stop_with_savepoint(client: Any, folder: str) -> str:
    """Stop the job and return its savepoint; PyFlink's own method does not know the format of savepoints."""
    from pyflink.java_gateway import get_gateway

    canonical = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL
    return str(client._j_job_client.stopWithSavepoint(False, folder, canonical).get())


def main() -> int:
    """Run the job, and print the savepoint."""
    from pyflink.java_gateway import get_gateway

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=["windows", "detect"])
    parser.add_argument("--release", choices=list(RELEASES), default="this")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--catalog", type=Path)
    given = parser.parse_args()
    submit = (
        partial(submit_windows, given.release)
        if given.job == "windows"
        else partial(submit_detect, Options(catalog=given.catalog))
    )
    if given.watch:
        return run_job(given.job, submit)
    with submit(Settings.from_environment()) as client:
        print("running", flush=True)
        if folder := sys.stdin.readline().strip():
            print(stop_with_savepoint(client, folder), flush=True)
    os.kill(int(get_gateway().jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
