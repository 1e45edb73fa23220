"""How far the reading is, on standard error, for people who wait."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

# Below this a log is read before anybody sees a bar.
WORTH_BYTES = 200_000_000


class Progress:
    """A bar over the bytes of all logs; nothing when standard error is no terminal or there is little to read."""

    def __init__(self, total_bytes: int) -> None:
        self._bar: Any = None
        if total_bytes >= WORTH_BYTES and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("reading", total=total_bytes)

    def __enter__(self) -> Self:
        """Show the bar."""
        if self._bar:
            self._bar.start()
        return self

    def advance(self, read_bytes: int) -> None:
        """Another log of this size was read."""
        if self._bar:
            self._bar.advance(self._task, read_bytes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.stop()
