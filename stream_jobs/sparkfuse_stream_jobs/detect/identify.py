"""Identify: says of each row which job, run and stage it is of; holds what a run could teach until it ended well.

One application attempt is one key. Rows arrive in the order that the windows job numbered them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.generated.fact_pb2 import SqlStarted, StageEnded, StageStarted
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_rules.knowledge.identity import identify
from sparkfuse_rules.knowledge.lessons import ended_well, stage_sample
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY, fingerprint_in_run
from sparkfuse_stream_jobs.detect.memory import Cell, Shelf

# An application with more stages than this is a loop that would fill the state; the rest are known by name only.
MAX_STAGES = 10_000
MAX_PLANS = 10_000
# A row of this many renews what it needs; rows come every few seconds, and state lives for days.
REFRESH_EVERY = 97


@dataclass(frozen=True)
class Application:
    """Who runs. ``start_seen`` is false when its start was lost: then its job cannot be told."""

    job_key: str
    run_key: str
    start_seen: bool = False
    stages: int = 0
    plans: int = 0
    ended: bool = False
    owner: str | None = None
    team: str | None = None


@dataclass(frozen=True)
class Stage:
    """What is known of a stage from its start, its fingerprint once a row asked for it, and how it stands."""

    start_seen: bool = False
    name: str = ""
    scope_names: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    sql_execution_id: int | None = None
    fingerprint: str = ""
    last_attempt: int = 0
    failed: bool = False


@dataclass(frozen=True)
class Plan:
    """The nodes of the physical plan of a SQL execution."""

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """What one stage of a run that ended well teaches. ``baseline`` holds exactly one sample."""

    baseline: Baseline
    app_start_ms: int


@dataclass(frozen=True)
class Memory:
    """What Identify remembers of one application attempt."""

    last_seq: Cell[int]
    application: Cell[Application]
    stages: Shelf[Stage]
    plans: Shelf[Plan]
    samples: Shelf[Baseline]


def _refresh(row: LiveRow, memory: Memory) -> None:
    """Write again what was written once at a start, so that it does not expire while the application runs."""
    if application := memory.application.get():
        memory.application.put(application)
    name = str(row.stage.stage_id if row.HasField("stage") else row.task.stage_id)
    if stage := memory.stages.get(name):
        memory.stages.put(name, stage)


def is_replayed(row: LiveRow, memory: Memory) -> bool:
    """Whether the row was seen before; one that is newer is remembered as seen."""
    if not row.HasField("row_seq"):
        return False
    last = memory.last_seq.get()
    if last is not None and row.row_seq <= last:
        return True
    memory.last_seq.put(row.row_seq)
    return False


def step(row: LiveRow, memory: Memory) -> Iterator[LiveRow | Lesson]:
    """Give the row back with job, run and stage filled in; behind the end of a good run, what it teaches.

    A row that was seen before gives nothing.
    """
    if is_replayed(row, memory):
        return
    _meet_application(row, memory)
    if row.row_seq % REFRESH_EVERY == 0:
        _refresh(row, memory)
    kind = row.WhichOneof("row")
    if kind == "stage_started":
        _remember_stage(row.stage_started, memory)
    elif kind == "sql_started":
        _remember_plan(row.sql_started, memory)
    elif kind == "stage_ended":
        _remember_end(row.stage_ended, memory)
    yield _identified(row, memory)
    if kind == "stage":
        _hold_sample(row, memory)
    elif kind == "application_ended":
        yield from _lessons(row, memory)


@dataclass(frozen=True)
class _Stages:
    """The stages of the application, as knowledge asks for them."""

    memory: Memory

    def started(self, stage_id: int) -> Stage | None:
        """What the stage's start said; None when it was lost, though its end may have been seen."""
        return _started(stage_id, self.memory)

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """The nodes of the plan, empty when it is not known."""
        plan = self.memory.plans.get(str(sql_execution_id))
        return plan.nodes if plan else ()

    def keep(self, stage_id: int, fingerprint: str) -> None:
        """Remember the fingerprint."""
        if stage := _started(stage_id, self.memory):
            self.memory.stages.put(str(stage_id), replace(stage, fingerprint=fingerprint))


def fingerprint(stage_id: int, name: str, memory: Memory) -> str:
    """The stage's fingerprint within its run, kept from the first row on."""
    return fingerprint_in_run(stage_id, name, _Stages(memory))


def sample(row: LiveRow) -> BaselineSample | None:
    """What the row of a stage teaches: only a first attempt that ended well, with all its evidence.

    ``learned_ms`` is left open until the application ended.
    """
    if row.stage.status != "succeeded":  # spares the look at rows that come every few seconds
        return None
    stage = {descriptor.name: value for descriptor, value in row.stage.ListFields()}
    taught = stage_sample(row.run_key, row.completeness, stage)
    if taught is None:
        return None
    found = BaselineSample(run_key=taught.run_key, wall_ms=taught.wall_ms)
    for name in ("cpu_ms", "work_bytes", "work_records", "num_tasks"):
        if (value := getattr(taught, name)) is not None:
            setattr(found, name, value)
    return found


def _meet_application(row: LiveRow, memory: Memory) -> None:
    """Remember who runs, at the start of the application or at the first row when its start was lost."""
    known = memory.application.get()
    if row.HasField("application_started"):
        started = row.application_started
        properties, user = dict(started.properties), started.user_name
        who = identify(properties, started.name, row.app_id, row.app_attempt, row.app_start_ms, user)
        found = replace(
            known or Application("", ""),
            job_key=who.job_key,
            run_key=who.run_key,
            start_seen=True,
            owner=who.owner,
            team=who.team,
        )
    elif known is None:
        who = identify({}, row.app_id, row.app_id, row.app_attempt, row.app_start_ms)
        found = Application(row.app_id, who.run_key)
    else:
        return
    memory.application.put(found)


def _remember_stage(started: StageStarted, memory: Memory) -> None:
    known = memory.stages.get(str(started.stage_id))
    if known is None or not known.start_seen:
        known = Stage(
            start_seen=True,
            name=started.name,
            scope_names=tuple(started.scope_names),
            parents=tuple(started.parent_stage_ids),
            sql_execution_id=started.sql_execution_id if started.HasField("sql_execution_id") else None,
        )
    _put_stage(started.stage_id, replace(known, last_attempt=started.stage_attempt, failed=False), memory)


def _remember_end(ended: StageEnded, memory: Memory) -> None:
    stage = memory.stages.get(str(ended.stage_id)) or Stage()
    if ended.stage_attempt >= stage.last_attempt and stage.failed == ended.succeeded:
        failed = replace(stage, last_attempt=ended.stage_attempt, failed=not ended.succeeded)
        _put_stage(ended.stage_id, failed, memory)


def _put_stage(stage_id: int, stage: Stage, memory: Memory) -> None:
    """Remember the stage, unless it is one too many."""
    application = memory.application.get()
    assert application is not None
    if memory.stages.get(str(stage_id)) is None:
        if application.stages >= MAX_STAGES:
            return
        memory.application.put(replace(application, stages=application.stages + 1))
    memory.stages.put(str(stage_id), stage)


def _remember_plan(started: SqlStarted, memory: Memory) -> None:
    application = memory.application.get()
    assert application is not None
    if application.plans < MAX_PLANS:
        memory.application.put(replace(application, plans=application.plans + 1))
        memory.plans.put(str(started.sql_execution_id), Plan(tuple(started.plan_nodes)))


def _identified(row: LiveRow, memory: Memory) -> LiveRow:
    application = memory.application.get()
    assert application is not None
    row.job_key, row.run_key = application.job_key, application.run_key
    for tag in ("owner", "team"):
        if said := getattr(application, tag):
            setattr(row, tag, said)
    if row.HasField("stage"):
        row.stage.stage_fingerprint = fingerprint(row.stage.stage_id, row.stage.name, memory)
    elif row.HasField("task"):
        stage = _started(row.task.stage_id, memory)
        row.task.stage_fingerprint = fingerprint(row.task.stage_id, "", memory)
        row.task.stage_name = stage.name if stage else f"stage {row.task.stage_id}"
    return row


def _started(stage_id: int, memory: Memory) -> Stage | None:
    """What the stage's start said; None when it was lost, though its end may have been seen."""
    stage = memory.stages.get(str(stage_id))
    return stage if stage and stage.start_seen else None


def _hold_sample(row: LiveRow, memory: Memory) -> None:
    application, stage = memory.application.get(), row.stage
    if application is None or not application.start_seen or stage.stage_fingerprint.startswith(NAME_ONLY):
        return
    name = str(stage.stage_id)
    if stage.stage_attempt:
        memory.samples.remove(name)
    elif found := sample(row):
        memory.samples.put(name, _baseline(row, found))


def _baseline(row: LiveRow, found: BaselineSample) -> Baseline:
    stage: StageLive = row.stage
    return Baseline(
        job_key=row.job_key, stage_fingerprint=stage.stage_fingerprint, stage_name=stage.name, samples=[found]
    )


def _lessons(row: LiveRow, memory: Memory) -> Iterator[Lesson]:
    """What the application taught, if it ended well; and let go of all but that it ended."""
    application = memory.application.get()
    assert application is not None
    failed_stages = sum(stage.failed for _, stage in memory.stages.items())
    well = ended_well(row.application_ended.failed_jobs, failed_stages)
    learned_ms = row.application_ended.ended_ms or row.window_end_ms
    for _, baseline in memory.samples.items() if well else ():
        baseline.updated_ms = baseline.samples[0].learned_ms = learned_ms
        yield Lesson(baseline, row.app_start_ms)
    memory.application.put(replace(application, ended=True))
    for shelf in (memory.stages, memory.plans, memory.samples):
        shelf.clear()
