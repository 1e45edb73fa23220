"""A verdict: what the fuse controller's own view says of one running stage, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sparkfuse_rules.rule import Rule


class Run(NamedTuple):
    """One run of an application: its id alone recurs."""

    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int


class Scope(NamedTuple):
    """One stage attempt of a run, in the eyes of one rule."""

    run: Run
    rule: str
    stage_id: int
    stage_attempt: int


@dataclass(frozen=True)
class Verdict:
    """The rule holds for the stage, in the latest row of it; ``row`` is that row of the view with its envelope.

    ``rule`` is the setting by which it holds: a rule may be set otherwise for some jobs.
    """

    scope: Scope
    rule: Rule
    severity: str
    row: Mapping[str, Any]

    @property
    def completeness(self) -> float:
        """Completeness of the evidence; unknown counts as none."""
        found = self.row.get("completeness")
        return 0.0 if found is None else float(found)
