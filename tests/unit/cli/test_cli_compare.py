"""`sparkfuse compare` on logs of known numbers: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.native_analytics.event_log_lines import Run, Stage, even, nightly

HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]red[/]\u202egnp.exe\nmore at orders.py:1"


def ask(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a person does, in a terminal of the usual width that knows no colours."""
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", "compare", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )


def logs(folder: Path, before: Run, after: Run) -> tuple[Path, Path]:
    """Two logs."""
    return before.write(folder / "before"), after.write(folder / "after")


def test_the_difference_and_its_first_cause_stand_on_top(tmp_path) -> None:
    """The same work took its tasks twice the time: three seconds more, all of them cost."""
    done = ask(*logs(tmp_path, nightly(0, 3_000), nightly(1, 6_000)))

    assert done.returncode == 0
    assert "took 4.5 s, then 7.5 s: +3.0 s (+67%)" in done.stdout
    assert done.stdout.splitlines()[3].split()[:3] == ["cost", "+3.0", "s"]
    assert "Note on the second run: The log tells of no executor" in done.stdout


def test_json_is_one_line_that_adds_up(tmp_path) -> None:
    """One object on one line; its stages and outside give its difference."""
    done = ask(*logs(tmp_path, nightly(0, 3_000), nightly(1, 6_000)), "--json")
    (line,) = done.stdout.splitlines()
    told = json.loads(line)

    assert told["difference_ms"] == 3_000
    assert sum(each["difference_ms"] for each in told["stages"] + told["outside"]) == 3_000
    assert told["before"]["log"].endswith("/before")


def test_text_of_a_log_commands_no_terminal(tmp_path) -> None:
    """Control characters, turned directions and markup of a name are shown, not obeyed."""
    before, after = (Run([Stage(0, even(wall_ms), name=HOSTILE)], job=HOSTILE) for wall_ms in (1_000, 2_000))
    done = ask(*logs(tmp_path, before, after))

    assert done.returncode == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)
    assert "[bold red]red[/]" in done.stdout


def test_a_path_without_a_log_is_one_sentence(tmp_path) -> None:
    """Exit code 3 and the path."""
    done = ask(tmp_path / "nowhere", tmp_path / "nowhere")

    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "nowhere: there is no such file or folder" in done.stderr


def test_a_folder_of_several_logs_is_refused(tmp_path) -> None:
    """A run is one log; which one is the person's to say. Exit code 2."""
    before, _ = logs(tmp_path, nightly(0, 1_000), nightly(1, 1_000))
    done = ask(before, tmp_path)

    assert done.returncode == 2
    assert "holds 2 logs" in done.stderr
