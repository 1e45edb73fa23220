"""Shows the progress of reading logs on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

# The bar appears only if reading takes longer than this, so that short work does not wait for the import of rich.
PATIENCE_SECONDS = 0.7


class Progress:
    """A progress bar over the bytes of all logs, shown only for long work and only on a terminal.

    For a single log, the bar only shows that the log is being read, because the kernel reads a log in one call.
    """

    def __init__(self, sizes_bytes: Sequence[int]) -> None:
        self._total = sum(sizes_bytes) if len(sizes_bytes) > 1 else None
        self._read_bytes = 0
        self._bar: Any = None
        self._ended = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_SECONDS, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Start the timer; the bar appears when it expires."""
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def advance(self, read_bytes: int) -> None:
        """Add the size of a log that was read to the progress."""
        with self._lock:
            self._read_bytes += read_bytes
            if self._bar:
                self._bar.update(self._bar.task_ids[0], completed=self._read_bytes)

    def make_room(self) -> None:
        """Remove the bar, so that output can be printed on the terminal."""
        if sys.stdout.isatty():
            self._end()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._end()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
        with self._lock:
            if not self._ended:
                self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
                self._bar.add_task("reading", total=self._total, completed=self._read_bytes)
                self._bar.start()

    def _end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar:
                self._bar.stop()
                self._bar = None
