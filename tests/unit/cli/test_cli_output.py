"""Tables of the commands: readable on every terminal, a line for each row where a program reads."""

from __future__ import annotations

from functools import partial

import pytest
from rich.console import Console

from sparkfuse.commands import output

HEADINGS = ["job", "application", "started", "status", "said"]
ROW = ["nightly_orders", "application_1795269556135_0001", "2026-11-21 13:59:11", None, "[red]it waits[/red] " * 10]


def test_what_is_no_terminal_gets_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe has no width: nothing is folded, nothing cut, and nothing in a text is markup."""
    output.print_table("Runs", HEADINGS, [ROW, ROW])
    lines = capsys.readouterr().out.splitlines()

    assert sum(ROW[0] in line and ROW[1] in line and ROW[4].strip() in line for line in lines) == 2


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_short_value_is_torn_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """Long texts give way; when that is not enough each row is a block of lines."""
    monkeypatch.setattr(output, "Console", partial(Console, force_terminal=True, no_color=True, width=width))
    output.print_table("Runs", HEADINGS, [ROW])
    lines = capsys.readouterr().out.splitlines()

    for word in (*HEADINGS, ROW[0], ROW[2]):
        assert any(word in line for line in lines), word
    assert any(line.lstrip("\x1b[0123456789m ").startswith("application") for line in lines) == (width < 100)


def test_a_table_without_rows_has_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to tell is told as such."""
    output.print_table("Runs", HEADINGS, [])
    shown = capsys.readouterr().out

    assert all(heading in shown for heading in HEADINGS)
