"""Errors that a user can correct: each has a message of one sentence and an exit code."""

from __future__ import annotations

USAGE = 2
"""Exit code: the command line or the configuration is wrong."""
MISSING = 3
"""Exit code: something that the command needs is missing, unreachable or configured differently."""


class StartError(Exception):
    """A command or the stack cannot start; the message contains the correction.

    Args:
        message: one sentence for the terminal.
        exit_code: USAGE or MISSING.
    """

    def __init__(self, message: str, exit_code: int = MISSING) -> None:
        super().__init__(message)
        self.exit_code = exit_code
