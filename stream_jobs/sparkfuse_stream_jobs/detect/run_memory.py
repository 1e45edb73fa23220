"""What Identify remembers of one application attempt while it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_stream_jobs.detect.memory import Cell, HeldCell, HeldShelf, Shelf


@dataclass(frozen=True)
class Application:
    """Who runs, and how much of it is remembered. ``start_seen`` is false when its start was lost.

    Then its job cannot be told. ``ended_ms`` is when Spark ended it, 0 before; ``deadline_ms`` is the one that its
    setting names; ``cores`` are those of its executors, of which a task takes ``task_cpus``; ``*_at_ms`` are ends of
    windows at which something was last done, or an executor last joined.
    """

    job_key: str
    run_key: str
    start_seen: bool = False
    stages: int = 0
    plans: int = 0
    ended: bool = False
    owner: str | None = None
    team: str | None = None
    jobs: int = 0
    executors: int = 0
    ended_ms: int = 0
    deadline_ms: int | None = None
    hosts_told_at_ms: int = 0
    renewed_at_ms: int = 0
    cores: int = 0
    task_cpus: int = 1
    joined_at_ms: int = 0


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
    failure_reason: str = ""
    failed_ms: int = 0
    runs_python: bool | None = None
    depth: int | None = None
    submitted_ms: int | None = None


@dataclass(frozen=True)
class Plan:
    """A SQL execution: the nodes of its physical plan, since when it runs, within which other, and its last job.

    ``failure_reason`` and ``ended_ms`` are what its end said, if it failed; ``told`` once that it, a job of it, or the
    execution within it failed has got a row.
    """

    nodes: tuple[str, ...] = ()
    description: str = ""
    started_ms: int | None = None
    root_id: int | None = None
    last_job_id: int | None = None
    failure_reason: str = ""
    ended_ms: int | None = None
    told: bool = False


@dataclass(frozen=True)
class Job:
    """A job that runs: what its user calls it, since when, which stages it may run, and for which SQL execution."""

    description: str = ""
    submitted_ms: int | None = None
    stage_ids: tuple[int, ...] = ()
    sql_execution_id: int | None = None


@dataclass(frozen=True)
class Executor:
    """An executor that is there: where, since when, and with how many cores."""

    host: str = ""
    added_ms: int | None = None
    cores: int = 0


@dataclass(frozen=True)
class Progress:
    """How long the stages that run will still take, at least, as the window that ended at ``window_end_ms`` saw it."""

    window_end_ms: int
    remaining_ms: int
    remaining_p95_ms: int


@dataclass(frozen=True)
class Memory:
    """All of it."""

    last_seq: Cell[int]
    application: Cell[Application]
    stages: Shelf[Stage]
    plans: Shelf[Plan]
    samples: Shelf[Baseline]
    jobs: Shelf[Job]
    executors: Shelf[Executor]
    losses: Cell[ExecutorLosses]
    progress: Cell[Progress]


def held_memory() -> Memory:
    """A memory in the process, for tests and for replays without Flink."""
    return Memory(
        last_seq=HeldCell(),
        application=HeldCell(),
        stages=HeldShelf(),
        plans=HeldShelf(),
        samples=HeldShelf(),
        jobs=HeldShelf(),
        executors=HeldShelf(),
        losses=HeldCell(),
        progress=HeldCell(),
    )


def started_stage(stage_id: int, memory: Memory) -> Stage | None:
    """What the stage's start said; None when it was lost, though its end may have been seen."""
    stage = memory.stages.get(str(stage_id))
    return stage if stage and stage.start_seen else None


def application_of(memory: Memory) -> Application:
    """The application of the key, which is met at its first row."""
    application = memory.application.get()
    assert application is not None
    return application


def count(memory: Memory, what: str, by: int) -> None:
    """Note that the application has so many more things of a kind remembered; ``what`` is a field of Application."""
    application = application_of(memory)
    memory.application.put(replace(application, **{what: max(0, getattr(application, what) + by)}))
