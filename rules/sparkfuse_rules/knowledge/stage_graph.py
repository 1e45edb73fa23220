"""Compute the fingerprints of all stages of one run, following the graph of their parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sparkfuse_rules.knowledge.fingerprint import stage_fingerprint, without_codegen_id

# The prefix of a fingerprint that is computed from the stage's name only, because the fact about its start was lost.
NAME_ONLY = "name-"
# The limits of the plugin (StageFacts, SqlFacts). Event logs contain more names, but must give the same fingerprint.
MOST_SCOPES = 64
MOST_PLAN_NODES = 256


class StartedStage(Protocol):
    """The start of a stage, from its fact; ``fingerprint`` is empty until it is computed."""

    @property
    def name(self) -> str:
        """The name that Spark gave to the stage."""

    @property
    def scope_names(self) -> Sequence[str]:
        """The names of the stage's RDD scopes."""

    @property
    def parents(self) -> Sequence[int]:
        """The ids of the stage's parent stages."""

    @property
    def sql_execution_id(self) -> int | None:
        """The id of the SQL execution to which the stage belongs; None if it belongs to none."""

    @property
    def depth(self) -> int | None:
        """The length of the longest chain of parent stages; None if the start of the stage's job was lost."""

    @property
    def submitted_ms(self) -> int | None:
        """The time at which the stage's first attempt was submitted, in ms since the epoch; None if unknown."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the stage; empty until it is computed."""


class StagesOfRun(Protocol):
    """The stages of one run, independent of where they are stored."""

    def started(self, stage_id: int) -> StartedStage | None:
        """Return the start of a stage; None if the fact about its start was lost."""

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """Return the nodes of the first physical plan of a SQL execution in pre-order; empty if it is unknown."""

    def store_fingerprint(self, stage_id: int, fingerprint: str) -> None:
        """Store the fingerprint of a started stage."""


def fingerprint_in_run(stage_id: int, name: str | None, run: StagesOfRun) -> str:
    """Return the fingerprint of a stage: from its operators, plan and parents, or from its name if its start was lost.

    The fingerprint is stored at the first call, so that it cannot change within a run. Parents that never started in
    this run are ignored, because their output existed already. Parents that started after the stage are ignored too,
    because they only recomputed lost output.
    """
    known = run.started(stage_id)
    if known and known.fingerprint:  # the usual case
        return known.fingerprint
    waiting = [stage_id]
    while waiting:
        stage = run.started(waiting[-1])
        # Spark gives a parent a smaller number than its children; because of this condition the loop always ends.
        parents = _parents(stage, waiting[-1], run) if stage else {}
        missing = [parent for parent, found in parents.items() if not found.fingerprint]
        if missing:
            waiting.extend(missing)
            continue
        if stage and not stage.fingerprint:
            fingerprints = [parent.fingerprint for parent in parents.values()]
            run.store_fingerprint(waiting[-1], _fingerprint(stage, fingerprints, run))
        waiting.pop()
    found = run.started(stage_id)
    return found.fingerprint if found else NAME_ONLY + stage_fingerprint(name or f"stage {stage_id}", (), (), ())


def _parents(stage: StartedStage, stage_id: int, run: StagesOfRun) -> dict[int, StartedStage]:
    """Return the parents that ran before the stage, by stage id."""
    started = {parent: run.started(parent) for parent in stage.parents if parent < stage_id}
    return {parent: found for parent, found in started.items() if found and not _started_after(found, stage)}


def _started_after(parent: StartedStage, stage: StartedStage) -> bool:
    if parent.submitted_ms is None or stage.submitted_ms is None:
        return False
    return parent.submitted_ms > stage.submitted_ms


def _fingerprint(stage: StartedStage, parents: Sequence[str], run: StagesOfRun) -> str:
    plan: Sequence[str] = () if stage.sql_execution_id is None else run.plan_nodes(stage.sql_execution_id)
    scopes = list(dict.fromkeys(without_codegen_id(name) for name in stage.scope_names))[:MOST_SCOPES]
    return stage_fingerprint(stage.name, scopes, plan[:MOST_PLAN_NODES], parents, stage.depth)


@dataclass(frozen=True)
class StartedStageOfRun:
    """A stage of a ``CompleteRun``."""

    name: str
    scope_names: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    sql_execution_id: int | None = None
    fingerprint: str = ""
    depth: int | None = None
    submitted_ms: int | None = None


@dataclass(frozen=True)
class CompleteRun:
    """All stages of a run by stage id, and its plans by SQL execution, in memory."""

    stages: dict[int, StartedStageOfRun]
    plans: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def started(self, stage_id: int) -> StartedStageOfRun | None:
        """Return the start of a stage; None if the run has no such stage."""
        return self.stages.get(stage_id)

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """Return the nodes of the first physical plan of a SQL execution."""
        return self.plans.get(sql_execution_id, ())

    def store_fingerprint(self, stage_id: int, fingerprint: str) -> None:
        """Store the fingerprint of a stage."""
        self.stages[stage_id] = replace(self.stages[stage_id], fingerprint=fingerprint)
