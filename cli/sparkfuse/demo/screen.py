"""The demonstration on the screen: a live table where there is a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

RECENT_EVENTS = 8
# So that a rule's name, which one may want to copy, stays in one piece.
LONGEST_RULE = len("stage_runaway_spill")
COLOURS = {"running": "cyan", "done": "green", "waiting": "bright_black"}


class Screen:
    """Shows the runs, what came of them, and what happened last.

    Args:
        console: where to draw.
        titles: the runs in order of their table rows.
    """

    def __init__(self, console: Console, titles: list[str]) -> None:
        self._console = console
        self._rows = {title: ["waiting", "", "", ""] for title in titles}
        self._events: list[str] = []
        self._began = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._progress.add_task("starting the stack", total=len(titles))
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def phase(self, text: str) -> None:
        """What goes on as a whole."""
        self._progress.update(self._task, description=text)
        self.event(text)

    def run(self, title: str, state: str) -> None:
        """A run waits, runs or is done."""
        self._rows[title][0] = state
        done = sum(row[0] == "done" for row in self._rows.values())
        self._progress.update(self._task, completed=done)
        self.event(f"{title}: {state}")

    def result(self, title: str, page: str, seconds: float | None, text: str) -> None:
        """A page or an act that belongs to a run."""
        self._rows[title][1:] = [page, "" if seconds is None else f"{seconds:.1f} s", text]

    def event(self, text: str) -> None:
        """One line of what happened."""
        line = f"{time.monotonic() - self._began:6.1f} s  {text}"
        self._events.append(line)
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def table(self) -> Table:
        """All runs and what came of them."""
        table = Table(expand=True, title="Sparkfuse demonstration")
        table.add_column("run", ratio=2, overflow="fold")
        table.add_column("state", no_wrap=True)
        table.add_column("page", width=LONGEST_RULE)
        table.add_column("evidence to webhook", width=len("evidence"))
        table.add_column("said", ratio=3, overflow="fold")
        for title, (state, page, seconds, text) in self._rows.items():
            table.add_row(title, Text(state, style=COLOURS.get(state, "")), page, seconds, Text(text))
        return table

    def _draw(self) -> Group:
        recent = Text("\n".join(self._events[-RECENT_EVENTS:]), style="bright_black")
        return Group(self.table(), self._progress, recent)
