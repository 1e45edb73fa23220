"""Shows the demonstration: a live view on a terminal of any size, one line per event elsewhere."""

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
# Lines of the live view that are not runs: heading, two summaries, a rule, and one spare line below the view.
FIXED_LINES = 5
FEWEST_EVENTS = 3


@dataclasses.dataclass
class Row:
    """One run in the live view.

    Attributes:
        title: name of the run.
        state: waiting, running or done.
        page: the finding that paged, with its severity; empty without one.
        seconds: from the evidence to the webhook; None without a page.
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
        """Show what the demonstration does at the moment."""
        self._phase = text
        self.event(text)

    def run(self, title: str, state: str) -> None:
        """Show that a run waits, runs or is done."""
        self._rows[title].state = state
        self.event(f"{title}: {state}")

    def result(self, title: str, page: str, seconds: float | None) -> None:
        """Show the finding that paged about a run."""
        self._rows[title].page, self._rows[title].seconds = page, seconds

    def event(self, text: str) -> None:
        """Add one event; without a terminal, print it."""
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        self._events.append(line)
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def summary(self) -> list[str]:
        """Return one line per run with its finding."""
        return [row_line(row, self._console.width) for row in self._rows.values()]

    def _draw(self) -> Text:
        seconds = int(time.monotonic() - self._started)
        heading = f"Sparkfuse demo: {self._phase} ({seconds // 60}:{seconds % 60:02d})"
        size = self._console.size
        lines = view(heading, self._rows.values(), self._events, size.width, size.height)
        # The last column stays empty: some terminals wrap a line that fills the width.
        return Text("\n").join(Text(text[: size.width - 1], style=style) for text, style in lines)


def view(heading: str, rows: Iterable[Row], events: list[str], width: int, height: int) -> list[tuple[str, str]]:
    """Return the lines of the live view with their styles; they fit into ``height`` lines of ``width`` characters.

    Runs that are running or that have a finding get one line each, running ones first; the others are counted.
    """
    everything = list(rows)
    running = [row for row in everything if row.state == RUNNING]
    found = [row for row in everything if row.state == DONE and row.page]
    shown = [*running, *found][: max(0, height - FIXED_LINES - FEWEST_EVENTS)]
    waiting = [row for row in everything if row.state == WAITING]
    quiet = [row for row in everything if row.state == DONE and not row.page]
    lines = [(heading, "bold")]
    lines += [(row_line(row, width), COLOURS.get(row.state, "")) for row in shown]
    lines.append((_counted("waiting", waiting), "bright_black"))
    lines.append((_counted("done without a finding", quiet), "bright_black"))
    lines.append(("-" * (width - 1), "bright_black"))
    recent = [line.replace("\n", " ") for line in events[-max(0, height - len(lines) - 1) :]]
    return [*lines, *((line, "bright_black") for line in recent)]


def row_line(row: Row, width: int) -> str:
    """Return one line about a run: state, title, finding, seconds from evidence to webhook."""
    seconds = "" if row.seconds is None else f"{row.seconds:5.1f} s"
    page_width = len("stage_runaway_spill (critical)")
    title_width = max(10, width - len(RUNNING) - page_width - len("999.9 s") - 4)
    title = row.title if len(row.title) <= title_width else f"{row.title[: title_width - 1]}…"
    return f"{row.state:<7} {title:<{title_width}} {row.page:<{page_width}} {seconds}".rstrip()


def _counted(what: str, rows: list[Row]) -> str:
    titles = ", ".join(row.title for row in rows)
    return f"{len(rows)} {what}: {titles}" if rows else f"0 {what}"
