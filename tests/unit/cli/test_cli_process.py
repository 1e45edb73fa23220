"""How a process of the stack ends, with what it started."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse.stack.process import Process, Service
from tests.waiting import wait_for


@pytest.mark.parametrize(("whole_session", "takes_seconds", "last_words"), [(True, 2, "said\n"), (False, 600, "")])
def test_what_outlives_its_starter_may_have_its_last_words(
    tmp_path: Path, whole_session: bool, takes_seconds: int, last_words: str
):
    """Spark's JVM tells of its application's end after the Python that started it; all others are ended at once."""
    begun, said = tmp_path / "begun", tmp_path / "said"
    said.touch()
    script = f"(touch {begun}; sleep {takes_seconds}; echo said > {said}) & exit 0"
    service = Service("job", ["sh", "-c", script], restart=False, stop_seconds=60, whole_session=whole_session)
    process = Process(service, tmp_path / "job.log")
    wait_for(lambda: begun.exists() and process.exit_code() is not None, 60, "the one that was started")
    process.stop()

    assert said.read_text() == last_words
