"""Which stage each stage of one run is: its fingerprint, made along the graph of the run's stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sparkfuse_rules.knowledge.fingerprint import stage_fingerprint, without_codegen_id

# Says that the stage's start was lost, and with it its operators and parents.
NAME_ONLY = "name-"
# What the plugin sends at most (StageFacts, SqlFacts): an event log has more, and must give the same fingerprint.
MOST_SCOPES = 64
MOST_PLAN_NODES = 256


class StartedStage(Protocol):
    """What the start of a stage told; ``fingerprint`` is empty until it was asked for."""

    @property
    def name(self) -> str:
        """Spark's name of the stage."""

    @property
    def scope_names(self) -> Sequence[str]:
        """The names of its RDD scopes."""

    @property
    def parents(self) -> Sequence[int]:
        """The ids of the stages that it reads from."""

    @property
    def sql_execution_id(self) -> int | None:
        """The SQL execution that it belongs to."""

    @property
    def depth(self) -> int | None:
        """How long the longest chain of stages behind it is; None when its job's start was lost."""

    @property
    def submitted_ms(self) -> int | None:
        """When its first attempt began [ms since epoch]; None when that was not told."""

    @property
    def fingerprint(self) -> str:
        """Its fingerprint, once it is known."""


class StagesOfRun(Protocol):
    """The stages of one run, wherever they are kept."""

    def started(self, stage_id: int) -> StartedStage | None:
        """What the stage's start told; None when it was lost."""

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """The nodes of the physical plan that a SQL execution began with, in pre-order; empty when it is not known."""

    def keep(self, stage_id: int, fingerprint: str) -> None:
        """Remember the fingerprint of a stage that has started."""


def fingerprint_in_run(stage_id: int, name: str | None, run: StagesOfRun) -> str:
    """The stage's fingerprint: with operators, plan and parents when its start was seen, else from its name alone.

    It is kept from the first question on, so that it cannot change within a run. A parent that never started in this
    run (its output was there already) adds nothing, nor does one that started behind the stage: its output was lost.
    """
    asked = run.started(stage_id)
    if asked and asked.fingerprint:  # as of nearly every row: each has one stage and may have many parents
        return asked.fingerprint
    waiting = [stage_id]
    while waiting:
        stage = run.started(waiting[-1])
        # Spark numbers parents before their children; holding to that, no list of parents can make this run for ever.
        parents = _parents(stage, waiting[-1], run) if stage else {}
        missing = [parent for parent, found in parents.items() if not found.fingerprint]
        if missing:
            waiting.extend(missing)
            continue
        if stage and not stage.fingerprint:
            known = [found.fingerprint for found in parents.values()]
            run.keep(waiting[-1], _fingerprint(stage, known, run))
        waiting.pop()
    found = run.started(stage_id)
    return found.fingerprint if found else NAME_ONLY + stage_fingerprint(name or f"stage {stage_id}", (), (), ())


def _parents(stage: StartedStage, stage_id: int, run: StagesOfRun) -> dict[int, StartedStage]:
    """The parents that ran for the stage."""
    started = {parent: run.started(parent) for parent in stage.parents if parent < stage_id}
    return {parent: found for parent, found in started.items() if found and not _is_behind(found, stage)}


def _is_behind(parent: StartedStage, stage: StartedStage) -> bool:
    if parent.submitted_ms is None or stage.submitted_ms is None:
        return False
    return parent.submitted_ms > stage.submitted_ms


def _fingerprint(stage: StartedStage, parents: Sequence[str], run: StagesOfRun) -> str:
    plan: Sequence[str] = () if stage.sql_execution_id is None else run.plan_nodes(stage.sql_execution_id)
    scopes = list(dict.fromkeys(without_codegen_id(name) for name in stage.scope_names))[:MOST_SCOPES]
    return stage_fingerprint(stage.name, scopes, plan[:MOST_PLAN_NODES], parents, stage.depth)


@dataclass(frozen=True)
class StartedStageOfRun:
    """A stage of a run that is held in memory as a whole."""

    name: str
    scope_names: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    sql_execution_id: int | None = None
    fingerprint: str = ""
    depth: int | None = None
    submitted_ms: int | None = None


@dataclass(frozen=True)
class CompleteRun:
    """All stages of a run that is over or held as a whole, by stage id, and the plans by SQL execution."""

    stages: dict[int, StartedStageOfRun]
    plans: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def started(self, stage_id: int) -> StartedStageOfRun | None:
        """What the stage's start told; None when it was lost."""
        return self.stages.get(stage_id)

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """The nodes of the plan that the SQL execution began with."""
        return self.plans.get(sql_execution_id, ())

    def keep(self, stage_id: int, fingerprint: str) -> None:
        """Remember the fingerprint."""
        self.stages[stage_id] = replace(self.stages[stage_id], fingerprint=fingerprint)
