"""Failures that a person can mend: each is one sentence and an exit code."""

from __future__ import annotations

USAGE = 2
"""Exit code: the command line or the configuration is wrong."""
MISSING = 3
"""Exit code: a part that is needed is missing, unreachable or set up otherwise."""


class StartError(Exception):
    """Something stands in the way of the start; the message says what to do.

    Args:
        message: one sentence for the terminal.
        exit_code: USAGE or MISSING.
    """

    def __init__(self, message: str, exit_code: int = MISSING) -> None:
        super().__init__(message)
        self.exit_code = exit_code
