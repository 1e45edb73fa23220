"""Waiting for a condition with a deadline, so that no test sleeps for a guessed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

LOOK_EVERY_SECONDS = 0.05
"""Between two looks: short against what is waited for, long against what a look costs."""


def wait_for(condition: Callable[[], Seen], seconds: float, what: str) -> Seen:
    """The first true answer of the condition.

    Args:
        condition: called again and again; what it raises is the test's failure.
        seconds: the deadline, from now.
        what: the end of the sentence "after 10 s still waiting for ...".

    Raises:
        TimeoutError: the deadline passed; tells what was waited for and the last answer.
    """
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        seen = condition()
        if seen:
            return seen
        if time.monotonic() >= deadline:
            raise TimeoutError(f"after {seconds:g} s still waiting for {what}; last answer: {seen!r}")
        pause.wait(LOOK_EVERY_SECONDS)
