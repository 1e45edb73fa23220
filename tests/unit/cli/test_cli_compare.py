"""Tests the output and exit codes of `sparkfuse compare` on logs with known numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.native_analytics.event_log_lines import Run, Stage, even, nightly

HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]red[/]\u202egnp.exe\nmore at orders.py:1"


def ask(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command with a terminal of 120 columns without colours."""
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", "compare", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )


def logs(folder: Path, before: Run, after: Run) -> tuple[Path, Path]:
    """Write two logs."""
    return before.write(folder / "before"), after.write(folder / "after")


def test_difference_and_first_cause_come_first(tmp_path) -> None:
    """If tasks take twice the time for the same work, all three added seconds are attributed to the cause `cost`."""
    done = ask(*logs(tmp_path, nightly(0, 3_000), nightly(1, 6_000)))

    assert done.returncode == 0
    assert "from 4.5 s to 7.5 s: +3.0 s (+67%)" in done.stdout
    assert done.stdout.splitlines()[3].split()[:3] == ["cost", "+3.0", "s"]
    assert "Note on the second run: The log has no executors" in done.stdout


def test_json_differences_add_up(tmp_path) -> None:
    """The JSON is one line, and the differences of stages and of the time outside stages add up to the total."""
    done = ask(*logs(tmp_path, nightly(0, 3_000), nightly(1, 6_000)), "--json")
    (line,) = done.stdout.splitlines()
    comparison = json.loads(line)

    assert comparison["difference_ms"] == 3_000
    assert sum(each["difference_ms"] for each in comparison["stages"] + comparison["outside"]) == 3_000
    assert comparison["before"]["log"].endswith("/before")


def test_text_of_a_log_cannot_control_the_terminal(tmp_path) -> None:
    """Control characters, text direction marks and markup of a name are neutralised."""
    before, after = (Run([Stage(0, even(wall_ms), name=HOSTILE)], job=HOSTILE) for wall_ms in (1_000, 2_000))
    done = ask(*logs(tmp_path, before, after))

    assert done.returncode == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)
    assert "[bold red]red[/]" in done.stdout


def test_missing_path_is_one_sentence(tmp_path) -> None:
    """For a missing path the exit code is 3 and one sentence names the path."""
    done = ask(tmp_path / "nowhere", tmp_path / "nowhere")

    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "nowhere: there is no such file or folder" in done.stderr


def test_folder_with_several_logs_is_refused(tmp_path) -> None:
    """A run is one log, so the exit code is 2 for a folder with two logs."""
    before, _ = logs(tmp_path, nightly(0, 1_000), nightly(1, 1_000))
    done = ask(before, tmp_path)

    assert done.returncode == 2
    assert "contains 2 logs" in done.stderr
