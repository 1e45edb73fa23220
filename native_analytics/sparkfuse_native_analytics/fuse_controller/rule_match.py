"""A rule match: a rule that holds for one running stage in the fuse controller's own view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sparkfuse_rules.rule import Rule


class Run(NamedTuple):
    """One application attempt; the start time is part of the key because application ids can recur."""

    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int


class Scope(NamedTuple):
    """One stage attempt of a run, together with the rule that was evaluated for it."""

    run: Run
    rule: str
    stage_id: int
    stage_attempt: int


@dataclass(frozen=True)
class RuleMatch:
    """The rule holds for the latest row of the stage.

    ``row`` is that row of stage_live with its envelope. ``rule`` is the variant that matched: a rule can have other
    parameters for some jobs.
    """

    scope: Scope
    rule: Rule
    severity: str
    row: Mapping[str, Any]

    @property
    def completeness(self) -> float:
        """Completeness of the evidence, from 0 to 1; 0 if the row has none."""
        found = self.row.get("completeness")
        return 0.0 if found is None else float(found)
