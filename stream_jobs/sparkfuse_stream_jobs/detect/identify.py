"""Identify: says of each row which job, run and stage it is of, and what only the run as a whole can tell.

One application attempt is one key. Rows arrive in the order that the windows job numbered them. What goes wrong gets
rows of its own, and what a run could teach is held until it ended well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.fact_pb2 import StageEnded, StageStarted
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.deadline import SETTING, DeadlineError, deadline_ms
from sparkfuse_rules.knowledge.identity import identify
from sparkfuse_rules.knowledge.plan_operators import runs_python
from sparkfuse_rules.knowledge.stage_graph import fingerprint_in_run
from sparkfuse_stream_jobs.detect import outlook, teaching, troubles
from sparkfuse_stream_jobs.detect.host_news import HostNews, host_news
from sparkfuse_stream_jobs.detect.run_memory import (
    Application,
    Memory,
    Stage,
    application_of,
    started_stage,
)

# An application with more stages than this is a loop that would fill the state; the rest are known by name only.
MAX_STAGES = 10_000
# A row of this many renews what it needs; rows come every few seconds, and state lives for days.
REFRESH_EVERY = 97
RENEW_EVERY_MS = 86_400_000


@dataclass(frozen=True)
class Refused:
    """Something that the application's owner wrote cannot be used; ``text`` says what, and what would be right."""

    text: str


Found = LiveRow | Baseline | HostNews | Refused


def is_replayed(row: LiveRow, memory: Memory) -> bool:
    """Whether the row was seen before; one that is newer is remembered as seen."""
    if not row.HasField("row_seq"):
        return False
    last = memory.last_seq.get()
    if last is not None and row.row_seq <= last:
        return True
    memory.last_seq.put(row.row_seq)
    return False


def step(row: LiveRow, memory: Memory) -> Iterator[Found]:
    """Give the row back with job, run and stage filled in, and behind it what follows from it.

    That is the row of a failed job or query or of a lost executor, news of hosts, and behind the end of a good run what
    it teaches. A row that was seen before gives nothing.
    """
    if is_replayed(row, memory):
        return
    yield from _meet_application(row, memory)
    if row.row_seq % REFRESH_EVERY == 0:
        _refresh(row, memory)
    _remember(row, memory)
    _identify(row, memory)
    if row.HasField("application_ended"):
        # Before the end itself, behind which the run's findings are done with.
        yield from troubles.queries_left(row, memory)
    yield row
    yield from host_news(row, memory)
    for made in _following(row, memory):
        yield made
        yield from host_news(made, memory)
    if row.HasField("stage") or row.HasField("application"):
        teaching.hold(row, memory)
    elif row.HasField("application_ended"):
        yield from teaching.lessons(row, memory)
        _let_go(row, memory)


@dataclass(frozen=True)
class _Stages:
    """The stages of the application, as knowledge asks for them."""

    memory: Memory

    def started(self, stage_id: int) -> Stage | None:
        """What the stage's start said; None when it was lost, though its end may have been seen."""
        return started_stage(stage_id, self.memory)

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        """The nodes of the plan, empty when it is not known."""
        plan = self.memory.plans.get(str(sql_execution_id))
        return plan.nodes if plan else ()

    def keep(self, stage_id: int, fingerprint: str) -> None:
        """Remember the fingerprint."""
        if stage := started_stage(stage_id, self.memory):
            self.memory.stages.put(str(stage_id), replace(stage, fingerprint=fingerprint))


def fingerprint(stage_id: int, name: str, memory: Memory) -> str:
    """The stage's fingerprint within its run, kept from the first row on."""
    return fingerprint_in_run(stage_id, name, _Stages(memory))


def _meet_application(row: LiveRow, memory: Memory) -> Iterator[Refused]:
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
            task_cpus=_task_cpus(started.configuration),
            renewed_at_ms=row.window_end_ms,
        )
        try:
            found = replace(found, deadline_ms=_deadline_ms(properties, row.app_start_ms))
        except DeadlineError as refused:
            yield Refused(f"{row.app_id} of {who.job_key}: {refused}")
    elif known is None:
        who = identify({}, row.app_id, row.app_id, row.app_attempt, row.app_start_ms)
        found = Application(row.app_id, who.run_key, renewed_at_ms=row.window_end_ms)
    else:
        return
    memory.application.put(found)


def _deadline_ms(properties: dict[str, str], started_ms: int) -> int | None:
    said = properties.get(SETTING, "").strip()
    return deadline_ms(said, started_ms) if said else None


def _task_cpus(configuration: Mapping[str, str]) -> int:
    said = configuration.get("spark.task.cpus", "").strip()
    return max(1, int(said)) if said.isascii() and said.isdigit() and len(said) < 6 else 1


def _remember(row: LiveRow, memory: Memory) -> None:
    """Take in what a start or an end says, before anything is said of the row."""
    kind = row.WhichOneof("row")
    if kind == "stage_started":
        _remember_stage(row.stage_started, memory)
    elif kind == "sql_started":
        troubles.remember_query(row, memory)
    elif kind == "stage_ended":
        _remember_end(row.stage_ended, memory)
    elif kind == "job_started":
        troubles.remember_job(row, memory)
    elif kind == "executor_added":
        troubles.remember_executor(row, memory)
    elif kind == "application" and row.application.ended_ms:
        _remember_application_end(row.application.ended_ms, memory)


def _remember_stage(started: StageStarted, memory: Memory) -> None:
    known = memory.stages.get(str(started.stage_id))
    if known is None or not known.start_seen:
        known = Stage(
            start_seen=True,
            name=started.name,
            scope_names=tuple(started.scope_names),
            parents=tuple(started.parent_stage_ids),
            sql_execution_id=started.sql_execution_id if started.HasField("sql_execution_id") else None,
            depth=started.depth if started.HasField("depth") else None,
            submitted_ms=started.submitted_ms if started.HasField("submitted_ms") else None,
        )
    _put_stage(started.stage_id, replace(known, last_attempt=started.stage_attempt, failed=False), memory)


def _remember_end(ended: StageEnded, memory: Memory) -> None:
    stage = memory.stages.get(str(ended.stage_id)) or Stage()
    if ended.stage_attempt >= stage.last_attempt and stage.failed == ended.succeeded:
        after = replace(stage, last_attempt=ended.stage_attempt, failed=not ended.succeeded)
        if after.failed:
            reason = ended.failure_reason[: troubles.MAX_TEXT]
            after = replace(after, failure_reason=reason, failed_ms=ended.completed_ms)
        _put_stage(ended.stage_id, after, memory)


def _put_stage(stage_id: int, stage: Stage, memory: Memory) -> None:
    """Remember the stage, unless it is one too many."""
    application = application_of(memory)
    if memory.stages.get(str(stage_id)) is None:
        if application.stages >= MAX_STAGES:
            return
        memory.application.put(replace(application, stages=application.stages + 1))
    memory.stages.put(str(stage_id), stage)


def _remember_application_end(ended_ms: int, memory: Memory) -> None:
    application = application_of(memory)
    if application.ended_ms != ended_ms:
        memory.application.put(replace(application, ended_ms=ended_ms))


def _identify(row: LiveRow, memory: Memory) -> None:
    """Fill in what the row does not know of itself."""
    application = application_of(memory)
    row.job_key, row.run_key = application.job_key, application.run_key
    for tag in ("owner", "team"):
        if said := getattr(application, tag):
            setattr(row, tag, said)
    kind = row.WhichOneof("row")
    if kind == "stage":
        row.stage.stage_fingerprint = fingerprint(row.stage.stage_id, row.stage.name, memory)
        _tell_python(row, memory)
        outlook.project_stage(row, memory)
    elif kind == "task":
        row.task.stage_fingerprint, row.task.stage_name = _stage_of(row.task.stage_id, memory)
    elif kind == "failure":
        row.failure.stage_fingerprint, row.failure.stage_name = _stage_of(row.failure.stage_id, memory)
        troubles.fill_failure(row)
    elif kind == "application":
        outlook.tell_progress(row, memory)


def _stage_of(stage_id: int, memory: Memory) -> tuple[str, str]:
    stage = started_stage(stage_id, memory)
    return fingerprint(stage_id, "", memory), stage.name if stage else f"stage {stage_id}"


def _tell_python(row: LiveRow, memory: Memory) -> None:
    """Whether the stage runs Python functions; nothing is said of one whose start was lost."""
    stage = started_stage(row.stage.stage_id, memory)
    if stage is None:
        return
    found = stage.runs_python
    if found is None:
        plan = () if stage.sql_execution_id is None else _Stages(memory).plan_nodes(stage.sql_execution_id)
        found = runs_python(stage.scope_names, plan)
        memory.stages.put(str(row.stage.stage_id), replace(stage, runs_python=found))
    row.stage.runs_python = found


def _following(row: LiveRow, memory: Memory) -> Iterator[LiveRow]:
    """The rows that follow from an end: of a failed job or query, of a lost executor."""
    if row.HasField("job_ended"):
        yield from troubles.ended_job(row, memory)
    elif row.HasField("sql_ended"):
        yield from troubles.ended_query(row, memory)
    elif row.HasField("executor_removed") and (made := troubles.lost_executor(row, memory)):
        yield made


def _refresh(row: LiveRow, memory: Memory) -> None:
    """Write again what was written once at a start, so that it does not expire while the application runs."""
    application = application_of(memory)
    if row.window_end_ms >= application.renewed_at_ms + RENEW_EVERY_MS:
        application = replace(application, renewed_at_ms=row.window_end_ms)
        for name, job in memory.jobs.items():
            memory.jobs.put(name, job)
        for name, executor in memory.executors.items():
            memory.executors.put(name, executor)
        if losses := memory.losses.get():
            memory.losses.put(losses)
    memory.application.put(application)
    name = str(row.stage.stage_id if row.HasField("stage") else row.task.stage_id)
    if stage := memory.stages.get(name):
        memory.stages.put(name, stage)


def _let_go(row: LiveRow, memory: Memory) -> None:
    """Forget all of an application that ended but who it was."""
    ended_ms = row.application_ended.ended_ms or row.window_end_ms
    memory.application.put(
        replace(application_of(memory), ended=True, ended_ms=ended_ms, stages=0, plans=0, jobs=0, executors=0, cores=0)
    )
    for shelf in (memory.stages, memory.plans, memory.samples, memory.jobs, memory.executors):
        shelf.clear()
    for cell in (memory.losses, memory.progress):
        cell.clear()
