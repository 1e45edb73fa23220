"""One execution of a block of job code, with its tag and limits. This module uses the standard library only."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sparkfuse.hook_driver import PluginDriver, TagDriver, log
from sparkfuse.hook_errors import FuseError, LimitExceededError

SAFE_POINT_SECONDS = 30.0
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Limits:
    """The limits of a block: seconds, bytes spilled to disk, rows written, and cost at a price per core-hour."""

    max_seconds: float | None = None
    max_spill: int | str | None = None
    max_output_rows: int | None = None
    max_cost: float | None = None

    def suffix(self, price: float | None) -> str:
        """Return the part of a tag that encodes these limits; without a price the cost is not limited."""
        core_ms = None if self.max_cost is None or not price else self.max_cost / price * _MS_PER_HOUR
        found = {
            "t": None if self.max_seconds is None else self.max_seconds * 1_000,
            "s": None if self.max_spill is None else as_bytes(self.max_spill),
            "r": self.max_output_rows,
            "c": core_ms,
        }
        if any(value is not None and value < 0 for value in found.values()):
            raise ValueError(f"a limit must not be negative: {self}")
        return "".join(f".{letter}{int(value)}" for letter, value in found.items() if value is not None)


def as_bytes(size: int | str) -> int:
    """Return a number of bytes, given as a number or as a string such as 512m or 10g."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", str(size).strip().lower())
    if found is None:
        raise ValueError(f"not a size: {size!r}; write for example 512m or 10g")
    return int(found[1]) * _UNITS[found[2]]


class Block:
    """A block that runs now. The jobs of the thread that entered the block carry `tag`."""

    def __init__(self, driver: PluginDriver | TagDriver | None, name: str, limits: Limits, price: float | None) -> None:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40] or "block"
        self.tag = f"sparkfuse-block.{uuid.uuid4().hex[:16]}.{plain}{limits.suffix(price)}"
        self.expired = False
        self._driver = driver
        self._seconds = limits.max_seconds
        self._changed = threading.Condition()
        self._safe_points = 0
        self._over = False

    def begin(self) -> None:
        """Begin the block; if the block cannot begin, the job continues without limits."""
        self._try("begin", self.tag)
        if self._seconds is not None and self._driver is not None and self._driver.cancels:
            threading.Thread(target=self._expire, name="sparkfuse-block", daemon=True).start()

    def end(self) -> dict[str, Any]:
        """End the block and return the plugin's report, which is empty without the plugin."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        report = self._try("end", self.tag)
        return report if isinstance(report, dict) else {}

    def suspend(self) -> None:
        """Remove the tag from the calling thread until `resume`, because another coroutine uses the thread."""
        self._try("leave", self.tag)

    def resume(self) -> None:
        """Give the tag to the jobs that the calling thread starts from now on."""
        self._try("enter", self.tag)

    @contextmanager
    def safe_point(self) -> Iterator[None]:
        """Delay a stop of this block until the end of the safe point, for a limited time."""
        self._safe(1)
        try:
            yield
        finally:
            self._safe(-1)

    def expired_error(self, doing: str) -> FuseError | None:
        """Return the error for the exceeded limit if this process has cancelled the block."""
        if not self.expired:
            return None
        evidence = f"the block ran longer than {self._seconds} s"
        return LimitExceededError(
            "max_seconds", evidence, "raise max_seconds of the block", "", doing, self.tag, "limit"
        )

    def _safe(self, change: int) -> None:
        with self._changed:
            self._safe_points += change
            self._changed.notify_all()
        self._try("safe_point", self.tag, change > 0)

    def _expire(self) -> None:
        with self._changed:
            if self._changed.wait_for(lambda: self._over, self._seconds):
                return
            self._changed.wait_for(lambda: self._over or self._safe_points == 0, SAFE_POINT_SECONDS)
            if self._over:
                return
            self.expired = True
        while not self._over:  # jobs that the block starts later carry the tag too
            self._try("cancel", self.tag)
            with self._changed:
                self._changed.wait_for(lambda: self._over, 1.0)

    def _try(self, method: str, *arguments: Any) -> Any:
        if self._driver is None:
            return None
        try:
            call: Callable[..., Any] = getattr(self._driver, method)
            return call(*arguments)
        except Exception as error:  # the job continues without the limit
            log.warning("Sparkfuse: the call %s for a block failed: %s", method, error)
            return None
