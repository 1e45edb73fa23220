"""Waits for a condition with a deadline, so that no test sleeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

POLL_SECONDS = 0.05
"""Time between two calls of the condition."""


def wait_for(condition: Callable[[], Answer], seconds: float, what: str) -> Answer:
    """Call the condition until its result is true, and return this result.

    Args:
        condition: called repeatedly; an exception fails the test.
        seconds: the deadline, from now.
        what: the end of the sentence "after 10 s still waiting for ...".

    Raises:
        TimeoutError: the deadline passed; the message contains `what` and the last answer.
    """
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise TimeoutError(f"after {seconds:g} s still waiting for {what}; last answer: {answer!r}")
        pause.wait(POLL_SECONDS)
