"""The target of a match: a run of an application, and a stage attempt within the run."""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """One application attempt; the start time is part of the key because application ids can recur."""

    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int


class Scope(NamedTuple):
    """A rule and the stage attempt that it matches."""

    run: Run
    rule: str
    stage_id: int
    stage_attempt: int
