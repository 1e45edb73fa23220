"""Tests that a process of the stack is stopped together with its children."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse.stack.process import Process, Service
from tests.waiting import wait_for


@pytest.mark.parametrize(("whole_session", "takes_seconds", "output"), [(True, 2, "written\n"), (False, 600, "")])
def test_child_processes_may_finish_if_configured(tmp_path: Path, whole_session: bool, takes_seconds: int, output: str):
    """Child processes are killed with their parent, unless the process is configured otherwise.

    Spark's JVM is the exception, because it reports the end of its application after its Python process exited.
    """
    begun, written = tmp_path / "begun", tmp_path / "written"
    written.touch()
    script = f"(touch {begun}; sleep {takes_seconds}; echo written > {written}) & exit 0"
    service = Service("job", ["sh", "-c", script], restart=False, stop_seconds=60, whole_session=whole_session)
    process = Process(service, tmp_path / "job.log")
    wait_for(lambda: begun.exists() and process.exit_code() is not None, 60, "the child process")
    process.stop()

    assert written.read_text() == output
