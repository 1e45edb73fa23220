"""Stores the stages of a run, and computes their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.fact_pb2 import StageEnded, StageStarted
from sparkfuse_contracts.generated.live_pb2 import StageLive
from sparkfuse_rules.knowledge.plan_operators import runs_python
from sparkfuse_rules.knowledge.stage_graph import fingerprint_in_run
from sparkfuse_stream_jobs.detect.queries import MAX_TEXT
from sparkfuse_stream_jobs.detect.state.run_state import (
    RunState,
    StageState,
    add_count,
    application_of,
    oldest_unused,
    started_stage,
)

# Maximum number of stored stages of one application, which are those of the last week (retention.py). Beyond this
# number, the oldest stages are dropped; if running jobs have so many stages, further ones are identified by name only.
MAX_STAGES = 10_000


@dataclass(frozen=True)
class _StagesOfRun:
    """The stages of the application, as ``fingerprint_in_run`` reads them."""

    state: RunState

    def started(self, stage_id: int) -> StageState | None:
        """Return the stage; None if the fact about its start was lost, even if its end is known."""
        return started_stage(stage_id, self.state)

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """Return the nodes of the query's plan; empty if the query is unknown."""
        query = self.state.queries.get(str(sql_execution_id))
        return query.nodes if query else ()

    def store_fingerprint(self, stage_id: int, fingerprint: str) -> None:
        """Store the fingerprint of a stage."""
        if stage := started_stage(stage_id, self.state):
            self.state.stages.put(str(stage_id), replace(stage, fingerprint=fingerprint))


def fingerprint(stage_id: int, name: str, state: RunState) -> str:
    """Return the stage's fingerprint; the fingerprint never changes within a run."""
    return fingerprint_in_run(stage_id, name, _StagesOfRun(state))


def add_stage(started: StageStarted, state: RunState) -> None:
    """Store a stage that started."""
    known = state.stages.get(str(started.stage_id))
    if known is None or not known.start_seen:
        known = StageState(
            start_seen=True,
            name=started.name,
            scope_names=tuple(started.scope_names),
            parents=tuple(started.parent_stage_ids),
            sql_execution_id=started.sql_execution_id if started.HasField("sql_execution_id") else None,
            depth=started.depth if started.HasField("depth") else None,
            submitted_ms=started.submitted_ms if started.HasField("submitted_ms") else None,
            call_site=started.call_site[:MAX_TEXT],
        )
    _put(started.stage_id, replace(known, last_attempt=started.stage_attempt, failed=False), state)


def end_stage(ended: StageEnded, state: RunState) -> None:
    """Store whether the last attempt of a stage failed, and why."""
    stage = state.stages.get(str(ended.stage_id)) or StageState()
    if ended.stage_attempt >= stage.last_attempt and stage.failed == ended.succeeded:
        after = replace(stage, last_attempt=ended.stage_attempt, failed=not ended.succeeded)
        if after.failed:
            after = replace(after, failure_reason=ended.failure_reason[:MAX_TEXT], failed_ms=ended.completed_ms)
        _put(ended.stage_id, after, state)


def fill_runs_python(stage: StageLive, state: RunState) -> None:
    """Set whether the stage runs Python functions; set nothing if the start of the stage was lost."""
    started = started_stage(stage.stage_id, state)
    if started is None:
        return
    found = started.runs_python
    if found is None:
        query_id = started.sql_execution_id
        plan = () if query_id is None else _StagesOfRun(state).plan_nodes(query_id)
        found = runs_python(started.scope_names, plan)
        state.stages.put(str(stage.stage_id), replace(started, runs_python=found))
    stage.runs_python = found


def _put(stage_id: int, stage: StageState, state: RunState) -> None:
    """Store the stage, unless it is new and running jobs have ``MAX_STAGES`` stages."""
    if state.stages.get(str(stage_id)) is None:
        if application_of(state).stages >= MAX_STAGES:
            _drop_oldest(state)
        application = application_of(state)
        if application.stages >= MAX_STAGES:
            return
        newest = max(application.newest_stage, stage_id)
        state.application.update(replace(application, stages=application.stages + 1, newest_stage=newest))
    state.stages.put(str(stage_id), stage)


def _drop_oldest(state: RunState) -> None:
    """Drop the oldest stages that no running job uses, so that a stream or a server always has its newest stages."""
    used = {stage for _, job in state.jobs.items() for stage in job.stage_ids}
    dropped = oldest_unused(state.stages.keys(), used, MAX_STAGES)
    for stage_id in dropped:
        state.stages.remove(str(stage_id))
        state.samples.remove(str(stage_id))
    add_count(state, "stages", -len(dropped))
