"""The broker's time, estimated between two written records with a clock that never steps."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_ms() -> int:
    """Return the time in ms of a clock that never steps; on Linux the clock also counts while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class BrokerClock:
    """The difference between a wall clock and the broker's clock.

    A step of the wall clock is noticed immediately, not only when the next record is written.
    """

    def __init__(self, steady: Callable[[], int] = steady_ms) -> None:
        """``steady`` returns ms of a clock that never steps."""
        self._steady = steady
        self._ahead_ms: int | None = None

    def appended(self, appended_ms: int) -> None:
        """Add the broker's time of a record that was written just now."""
        self._ahead_ms = appended_ms - self._steady()

    def skew_ms(self, wall_ms: int) -> int | None:
        """Return the wall clock minus the broker's clock; None before the first record."""
        return None if self._ahead_ms is None else wall_ms - self._steady() - self._ahead_ms
