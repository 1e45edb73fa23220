"""The command line of Sparkfuse, and `CircuitBreaker` for job code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkfuse.hook import CircuitBreaker, FuseBlownError, FuseError, FuseWarnedError, LimitExceededError

__all__ = ["CircuitBreaker", "FuseBlownError", "FuseError", "FuseWarnedError", "LimitExceededError"]


def __getattr__(name: str) -> object:
    """Load the hook at its first use, so that the command line starts without it."""
    if name in __all__:
        from sparkfuse import hook

        return getattr(hook, name)
    raise AttributeError(f"module 'sparkfuse' has no attribute {name!r}")
