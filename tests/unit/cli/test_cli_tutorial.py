"""Runs the commands of the tutorial and compares their output with the page.

``SPARKFUSE_WRITE_GOLDEN=1 pytest tests/unit/cli/test_cli_tutorial.py`` writes the outputs into the page again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>[^`]*)```")


@pytest.mark.parametrize("command", [each["command"] for each in BLOCK.finditer(PAGE.read_text())])
def test_output_of_the_tutorial_is_current(command: str) -> None:
    """Each command of the page prints, on a terminal of 80 columns, what the page shows."""
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    actual = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines()).rstrip("\n") + "\n"
    shown = {each["command"]: each["output"] for each in BLOCK.finditer(PAGE.read_text())}
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        PAGE.write_text(PAGE.read_text().replace(f"{command}\n{shown[command]}", f"{command}\n{actual}"))
        shown[command] = actual

    assert done.stderr == ""
    assert actual == shown[command]


def test_tutorial_has_outputs() -> None:
    """The page shows the output of at least three commands."""
    assert len(BLOCK.findall(PAGE.read_text())) >= 3
