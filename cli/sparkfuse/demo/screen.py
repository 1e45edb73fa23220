"""Shows the demonstration: on a terminal of any size as a live view, elsewhere as one line per event."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

WAITING, RUNNING, DONE = "waiting", "running", "done"
COLOURS = {RUNNING: "cyan", DONE: "green"}
# The number of lines in the live view that show no run: two headings, two summaries, a horizontal line, and a spare
# last line.
FIXED_LINES = 6
FEWEST_EVENTS = 3
PAGE_WIDTH = len("stage_runaway_spill (critical)")
DELAY_WIDTH = len("999.9 s")


@dataclasses.dataclass
class Row:
    """One run in the live view.

    Attributes:
        title: name of the run.
        state: waiting, running or done.
        page: the finding that caused a notification, with its severity; empty if there was none.
        seconds: seconds from the evidence to the webhook; None if there was no notification.
    """

    title: str
    state: str = WAITING
    page: str = ""
    seconds: float | None = None


class Screen:
    """Shows the runs, their findings and the latest events.

    Args:
        console: where to draw.
        titles: the runs, in the order of the view.
    """

    def __init__(self, console: Console, titles: list[str]) -> None:
        self._console = console
        self._rows = {title: Row(title) for title in titles}
        self._events: list[str] = []
        self._phase = "starting the stack"
        self._started = time.monotonic()
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def phase(self, text: str) -> None:
        """Show the current phase of the demonstration."""
        self._phase = text
        self.event(text)

    def run(self, title: str, state: str) -> None:
        """Show the state of a run: waiting, running or done."""
        self._rows[title].state = state
        self.event(f"{title}: {state}")

    def result(self, title: str, page: str, seconds: float | None) -> None:
        """Show the finding that caused a notification about a run."""
        self._rows[title].page, self._rows[title].seconds = page, seconds

    def event(self, text: str) -> None:
        """Show one event in the live view; without a terminal, print it."""
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        self._events.append(line)
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def summary(self) -> list[str]:
        """Return a heading, one line per run with its finding, and the meaning of the last column."""
        width = self._console.width
        lines = [row_line(row, width) for row in self._rows.values()]
        return [columns_line(width), *lines, "delay: from the end of the window with the evidence to the notification"]

    def _draw(self) -> Text:
        seconds = int(time.monotonic() - self._started)
        heading = f"Sparkfuse demo: {self._phase} ({seconds // 60}:{seconds % 60:02d})"
        size = self._console.size
        lines = view(heading, self._rows.values(), self._events, size.width, size.height)
        # The last column of the terminal stays empty, because some terminals wrap a line that fills the width.
        return Text("\n").join(Text(_cut(text, size.width - 1), style=style) for text, style in lines)


def view(heading: str, rows: Iterable[Row], events: list[str], width: int, height: int) -> list[tuple[str, str]]:
    """Return the lines of the live view with their styles; they fit into ``height`` lines of ``width`` characters.

    A run that is still running or has a finding gets a line of its own; runs that are still running come first. The
    other runs are only counted.
    """
    everything = list(rows)
    running = [row for row in everything if row.state == RUNNING]
    found = [row for row in everything if row.state == DONE and row.page]
    shown = [*running, *found][: max(0, height - FIXED_LINES - FEWEST_EVENTS)]
    waiting = [row for row in everything if row.state == WAITING]
    quiet = [row for row in everything if row.state == DONE and not row.page]
    lines = [(heading, "bold")]
    lines += [(columns_line(width), "bright_black")] if shown else []
    lines += [(row_line(row, width), COLOURS.get(row.state, "")) for row in shown]
    counted = (("waiting", waiting), ("done without a finding", quiet))
    lines += [(_counted(what, rows, width), "bright_black") for what, rows in counted if rows]
    lines.append(("-" * (width - 1), "bright_black"))
    recent = [line.replace("\n", " ") for line in events[-max(0, height - len(lines) - 1) :]]
    return [*lines, *((line, "bright_black") for line in recent)]


def row_line(row: Row, width: int) -> str:
    """Return one line about a run: state, title, finding, and seconds from evidence to webhook."""
    seconds = "" if row.seconds is None else f"{row.seconds:5.1f} s"
    return _columns(row.state, row.title, row.page, seconds, width)


def columns_line(width: int) -> str:
    """Return the heading above the lines of the runs."""
    return _columns("state", "run", "page", f"{'delay':>{DELAY_WIDTH}}", width)


def _columns(state: str, title: str, page: str, delay: str, width: int) -> str:
    title_width = max(10, width - len(RUNNING) - PAGE_WIDTH - DELAY_WIDTH - 4)
    return f"{state:<7} {_cut(title, title_width):<{title_width}} {page:<{PAGE_WIDTH}} {delay}".rstrip()


def _counted(what: str, rows: list[Row], width: int) -> str:
    """Return the number of runs and as many of their titles as fit into the line."""
    for named in range(len(rows), 0, -1):
        more = f" and {len(rows) - named} more" if named < len(rows) else ""
        line = f"{len(rows)} {what}: {', '.join(row.title for row in rows[:named])}{more}"
        if len(line) < width:
            return line
    return f"{len(rows)} {what}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
