"""Tests that the live view of the demonstration fits the terminal and shows running runs first."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sparkfuse.demo.scenario import cases
from sparkfuse.demo.screen import Row, Screen, row_line, view

EVENTS = [f"{second:6.1f} s  windows: ready after {second} s, and more text than fits" * 2 for second in range(60)]


def rows(*states: str) -> list[Row]:
    titles = [case.title for case in cases()]
    return [
        Row(title, state.split()[0], "stage_runaway_spill (critical)", 1.7) if "found" in state else Row(title, state)
        for title, state in zip(titles, states, strict=True)
    ]


ALL = ["running", *["done"] * 3, "running", "waiting", "done found", "done found", "running found", "waiting"]


@pytest.mark.parametrize("height", [24, 40, 12])
def test_view_fits_the_height_of_the_terminal(height: int) -> None:
    """The view never has more lines than the terminal, however many runs and events there are."""
    assert len(view("demo", rows(*ALL), EVENTS, 80, height)) <= height


def test_running_runs_come_before_finished_findings() -> None:
    """Each running run and each run with a finding gets a line; other runs are only counted."""
    lines = [text for text, _style in view("demo", rows(*ALL), [], 80, 24)]

    assert [line.split()[0] for line in lines[1:7]] == ["state", "running", "running", "running", "done", "done"]
    assert lines[7].startswith("2 waiting: ")
    assert lines[8].startswith("3 done without a finding: ")


def test_counted_runs_are_named_as_far_as_they_fit() -> None:
    """A line about many waiting runs names the first runs and shows the number of the others."""
    lines = [text for text, _style in view("demo", rows(*["waiting"] * 10), [], 80, 24)]

    assert lines[1] == "10 waiting: hung Python task, nightly orders (run 1) and 8 more"


@pytest.mark.parametrize("title", [case.title for case in cases()])
def test_line_of_a_run_fits_80_columns(title: str) -> None:
    """In an 80-column line, only a long title is shortened; rule, severity and seconds are shown completely."""
    line = row_line(Row(title, "running", "stage_runaway_spill (critical)", 123.4), 80)

    assert len(line) < 80
    assert line.endswith("stage_runaway_spill (critical) 123.4 s")


def test_without_a_terminal_each_event_is_one_line() -> None:
    """If the output is a log, it has one line per event and no drawn view."""
    out = io.StringIO()
    with Screen(Console(file=out, width=80), ["skewed join"]) as screen:
        screen.phase("running the Spark jobs")
        screen.run("skewed join", "running")
        screen.result("skewed join", "stage_skew (warning)", 10.8)
        screen.event("page firing: " + "x" * 200)

    lines = out.getvalue().splitlines()
    assert [line.split(" s  ", 1)[1] for line in lines] == [
        "running the Spark jobs",
        "skewed join: running",
        "page firing: " + "x" * 200,
    ]
