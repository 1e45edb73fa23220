"""Parses options that several commands share: the settings of the running stack, and durations."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse.stack.layout import addresses_of_running_stack
from sparkfuse_contracts.settings import Settings

HOUR_MS = 3_600_000
_UNIT_MS = {"m": 60_000, "h": HOUR_MS, "d": 24 * HOUR_MS, "w": 7 * 24 * HOUR_MS}
_DURATION = re.compile(r"(\d{1,6})([mhdw])")


def settings_of_stack(home: Path) -> Settings:
    """Return the settings of the environment, with the addresses of the stack that runs in ``home``."""
    return Settings.from_environment({**addresses_of_running_stack(home), **os.environ})


def duration_ms(option: str, text: str) -> int:
    """Return a duration such as 30m, 12h, 7d or 8w in milliseconds.

    Raises StartError, which names the option, if the value is invalid.
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise StartError(f"{option} must be a duration such as 30m, 12h, 7d or 8w, but is {text!r}", USAGE)
    return int(found[1]) * _UNIT_MS[found[2]]
