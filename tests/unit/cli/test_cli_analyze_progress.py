import io
import sys

import pytest

from sparkfuse.analysis import progress
from tests.waiting import wait_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def sit_at_terminal(monkeypatch):
    """Pretend that standard error is a terminal, and show the progress bar without delay.

    Call this in the test itself, because pytest replaces standard error after its fixtures.
    """

    def sit(terminal: bool = True) -> io.StringIO:
        monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
        error_output = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", error_output)
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setenv("TERM", "xterm")
        return error_output

    return sit


def test_long_work_shows_a_progress_bar(sit_at_terminal):
    """If reading logs takes long, a progress bar shows how many of their bytes were read."""
    shown = sit_at_terminal()
    with progress.Progress([1_000_000, 3_000_000]) as bar:
        bar.advance(1_000_000)
        wait_for(lambda: "1.0/4.0" in shown.getvalue(), 60, "the bar")

    assert "2.0/4.0" not in shown.getvalue()


def test_short_work_shows_no_bar(sit_at_terminal, monkeypatch):
    """No progress bar is printed if the command finishes before the delay of the bar."""
    shown = sit_at_terminal()
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 60.0)
    with progress.Progress([1, 2]) as bar:
        bar.advance(1)

    assert shown.getvalue() == ""


def test_no_bar_without_a_terminal(sit_at_terminal):
    """Without a terminal, no progress bar is started."""
    shown = sit_at_terminal(terminal=False)
    with progress.Progress([1, 2]) as bar:
        begun = bar._timer.is_alive()
        bar.advance(1)

    assert (begun, shown.getvalue()) == (False, "")


def test_first_result_ends_the_bar(sit_at_terminal):
    """On a terminal, the progress bar is removed before the first result is printed."""
    sit_at_terminal()
    with progress.Progress([1, 2]) as bar:
        wait_for(lambda: bar._bar is not None, 60, "the bar")
        bar.make_room()

        assert bar._bar is None
