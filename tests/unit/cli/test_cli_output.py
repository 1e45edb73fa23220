"""Tests that tables of the commands are readable on every terminal, and have one line per row in a pipe."""

from __future__ import annotations

from functools import partial

import pytest
from rich.console import Console

from sparkfuse.commands import output

HEADINGS = ["job", "application", "started", "status", "text"]
ROW = ["nightly_orders", "application_1795269556135_0001", "2026-11-21 13:59:11", None, "[red]it waits[/red] " * 10]


def test_pipe_gets_one_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, cells are neither wrapped nor truncated, and markup in cells is printed as plain text."""
    output.print_table("Runs", HEADINGS, [ROW, ROW])
    lines = capsys.readouterr().out.splitlines()

    assert sum(ROW[0] in line and ROW[1] in line and ROW[4].strip() in line for line in lines) == 2


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_short_values_are_not_folded_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """On a narrow terminal, only long texts are wrapped.

    If the table still does not fit, each row becomes a block of lines.
    """
    monkeypatch.setattr(output, "Console", partial(Console, force_terminal=True, no_color=True, width=width))
    output.print_table("Runs", HEADINGS, [ROW])
    lines = capsys.readouterr().out.splitlines()

    for word in (*HEADINGS, ROW[0], ROW[2]):
        assert any(word in line for line in lines), word
    assert any(line.lstrip("\x1b[0123456789m ").startswith("application") for line in lines) == (width < 100)


def test_empty_table_shows_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    """A table without rows still shows its headings."""
    output.print_table("Runs", HEADINGS, [])
    shown = capsys.readouterr().out

    assert all(heading in shown for heading in HEADINGS)


def test_control_characters_of_users_do_not_reach_the_terminal(capsys):
    """A control character in a cell is replaced; other text does not change."""
    output.print_table("Jobs", ["job"], [("a\x1b[31mb\r\x9bé ⋈",)])

    assert "a?[31mb??é ⋈" in capsys.readouterr().out.replace("\N{REPLACEMENT CHARACTER}", "?")
