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
    """Nobody has patience; called in the test itself, because pytest takes standard error back before it."""

    def sit(terminal: bool = True) -> io.StringIO:
        monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
        monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setenv("TERM", "xterm")
        return sys.stderr

    return sit


def test_long_work_shows_how_far_it_is(sit_at_terminal):
    """The bytes of the logs that were read, of those of all."""
    shown = sit_at_terminal()
    with progress.Progress([1_000_000, 3_000_000]) as bar:
        bar.advance(1_000_000)
        wait_for(lambda: "1.0/4.0" in shown.getvalue(), 60, "the bar")

    assert "2.0/4.0" not in shown.getvalue()


def test_short_work_shows_nothing(sit_at_terminal, monkeypatch):
    """What is over before anybody waits leaves no trace."""
    shown = sit_at_terminal()
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 60.0)
    with progress.Progress([1, 2]) as bar:
        bar.advance(1)

    assert shown.getvalue() == ""


def test_no_terminal_no_bar(sit_at_terminal):
    """The output of a build holds no bars: nothing is even begun."""
    shown = sit_at_terminal(terminal=False)
    with progress.Progress([1, 2]) as bar:
        begun = bar._timer.is_alive()
        bar.advance(1)

    assert (begun, shown.getvalue()) == (False, "")


def test_what_is_printed_takes_the_place_of_the_bar(sit_at_terminal):
    """On a terminal the first result ends the bar, so that the two do not write over each other."""
    sit_at_terminal()
    with progress.Progress([1, 2]) as bar:
        wait_for(lambda: bar._bar is not None, 60, "the bar")
        bar.make_room()

        assert bar._bar is None
