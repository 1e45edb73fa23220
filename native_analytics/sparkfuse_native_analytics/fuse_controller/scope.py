"""The target of a match: a run of an application, and the stage, task or query of the run that the rule is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkfuse_contracts.generated.finding_pb2 import FindingRun

# The fields that identify the target of a policy within a run, by the scope of the policy.
PLACE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "task": ("stage_id", "stage_attempt", "task_id"),
    "stage": ("stage_id", "stage_attempt"),
    "query": ("query_id",),
    "application": (),
}


class Run(NamedTuple):
    """One application attempt; the start time is part of the key because application ids can recur."""

    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int


class Scope(NamedTuple):
    """A rule and its target within a run: a stage attempt, one of its tasks, a query, or else the application."""

    run: Run
    rule: str
    stage_id: int | None = None
    stage_attempt: int | None = None
    task_id: int | None = None
    query_id: int | None = None

    @property
    def stage(self) -> tuple[int, int] | None:
        """Stage id and attempt, or None."""
        return None if self.stage_id is None else (self.stage_id, self.stage_attempt or 0)


def scope_of_run(cluster: str, rule: str, policy_scope: str, run: FindingRun) -> Scope | None:
    """Return the scope of one run of a finding; None if the finding does not name the target of the policy."""
    fields = PLACE_FIELDS[policy_scope]
    if not all(run.HasField(name) or name == "stage_attempt" for name in fields):
        return None
    place = {name: getattr(run, name) for name in fields}
    return Scope(Run(cluster, run.app_id, run.app_attempt, run.app_start_ms), rule, **place)
