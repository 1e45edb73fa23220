"""The state that the identify step stores for each running application attempt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_rules.knowledge.allocation import Allocation
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_rules.knowledge.long_lived import LearnedTemplate
from sparkfuse_stream_jobs.detect.state.plan_cache import PlanCache
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState, InMemoryValueState, MapState, ValueState

NOTHING_ALLOCATED = Allocation()
# An execution that ended: the end of its window, its run key, its end in ms since epoch, whether it succeeded, its
# query (None for a job without a query), and the stages of such a job.
EndedExecution = tuple[int, str, int, bool, int | None, tuple[int, ...]]


@dataclass(frozen=True)
class ApplicationState:
    """The identity of the application, and the numbers of what is stored about it.

    ``start_seen`` is false if the fact about the application's start was lost; its job is then unknown. ``ended_ms`` is
    the end that Spark reported, 0 before; ``deadline_ms`` comes from the application's setting. ``cores`` is the number
    of cores of its executors; each task takes ``task_cpus``. ``*_at_ms`` are ends of windows. ``ended_queries`` are the
    last queries that ended, whose plans are still stored. ``*_memory_mib`` is the memory of the driver and of an
    executor, None if it is unknown; ``allocation`` sums cores and memory of executors over time. ``ended_driver`` is
    the last error of a task that ended the JVM of the driver. ``newest_*`` are the highest numbers so far; ``marks``
    are the window, ``newest_stage`` and ``newest_query`` of each of the last days. A ``long_lived`` application is
    learned at the end of each execution; the last executions that ended wait in ``waiting_executions`` for late rows.
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
    hosts_reported_at_ms: int = 0
    refreshed_at_ms: int = 0
    cores: int = 0
    task_cpus: int = 1
    executor_joined_at_ms: int = 0
    stored_plans: int = 0
    ended_queries: tuple[int, ...] = ()
    driver_memory_mib: int | None = None
    executor_memory_mib: int | None = None
    pods: int = 0
    pods_dropped_at_ms: int = 0
    allocation: Allocation = NOTHING_ALLOCATED
    ended_driver: str = ""
    newest_stage: int = -1
    newest_query: int = -1
    marks: tuple[tuple[int, int, int], ...] = ()
    long_lived: bool = False
    templates: int = 0
    waiting_executions: tuple[EndedExecution, ...] = ()

    @property
    def slots(self) -> int:
        """The number of tasks that the executors of the application can run at the same time."""
        return self.cores // self.task_cpus


@dataclass(frozen=True)
class StageState:
    """A stage: the fields of its start, its fingerprint and names once they were computed, and its last result.

    ``named_version`` is the version of the query's plan from which the names were computed.
    """

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
    call_site: str = ""
    display_name: str = ""
    display_title: str = ""
    named_version: int | None = None


@dataclass(frozen=True)
class QueryState:
    """A SQL execution: the nodes of its physical plan, its start, its root execution and its last job.

    ``failure_reason`` and ``ended_ms`` are set if the query failed. ``failure_reported`` is true once a row was emitted
    for the failure of this query, of one of its jobs, or of a query within it. ``plan_versions`` are the stored
    versions of its plan; ``named_version`` is the version from which the query's names were computed. ``stage_ids`` are
    its stages that have names. ``operators`` is an encoded QueryLive with the columns about single operators, empty
    before the end of the query. ``job_failed`` is true once one of its jobs did not succeed.
    """

    nodes: tuple[str, ...] = ()
    description: str = ""
    started_ms: int | None = None
    root_id: int | None = None
    last_job_id: int | None = None
    failure_reason: str = ""
    ended_ms: int | None = None
    failure_reported: bool = False
    call_site: str = ""
    plan_versions: tuple[int, ...] = ()
    named_version: int | None = None
    name: str = ""
    title: str = ""
    sources: str | None = None
    sink: str | None = None
    stage_ids: tuple[int, ...] = ()
    operators: bytes = b""
    job_failed: bool = False


@dataclass(frozen=True)
class JobState:
    """A running job: its description, its submission, the ids of its stages, and its SQL execution."""

    description: str = ""
    submitted_ms: int | None = None
    stage_ids: tuple[int, ...] = ()
    sql_execution_id: int | None = None


@dataclass(frozen=True)
class ExecutorState:
    """A live executor: its host, its start, its cores, and its memory (None if it is unknown)."""

    host: str = ""
    added_ms: int | None = None
    cores: int = 0
    memory_mib: int | None = None


@dataclass(frozen=True)
class PodState:
    """The pod of an executor: its node, why Kubernetes ended it, and the removal of the executor once Spark reports it.

    ``counted_as`` is the failure as which the loss was counted; empty for a removal that Spark asked for. ``over_ms``
    is when the executor was removed; None while it may run. ``changed_ms`` is the window of the last change.
    """

    node: str = ""
    cause: str = ""
    message: str = ""
    exit_code: int | None = None
    changed_ms: int = 0
    over_ms: int | None = None
    added_ms: int | None = None
    reason: str = ""
    counted_as: str = ""


@dataclass(frozen=True)
class StageProgress:
    """The longest remaining time of the stages that ran in the window that ended at ``window_end_ms``."""

    window_end_ms: int
    remaining_ms: int
    remaining_p95_ms: int


@dataclass(frozen=True)
class RowEpoch:
    """The epoch of the last row (0 if its release had no epochs), and the end of the newest window."""

    epoch_ms: int = 0
    window_end_ms: int = 0


NO_EPOCH = RowEpoch()


@dataclass(frozen=True)
class RunState:
    """All state of one application attempt; ``last_seq`` is the number of the last row within ``row_epoch``.

    ``templates`` has the executions that were learned, by the fingerprint of their stages.
    """

    last_seq: ValueState[int]
    row_epoch: ValueState[RowEpoch]
    application: ValueState[ApplicationState]
    stages: MapState[StageState]
    queries: MapState[QueryState]
    sql_plans: MapState[bytes]
    samples: MapState[Baseline]
    jobs: MapState[JobState]
    executors: MapState[ExecutorState]
    pods: MapState[PodState]
    losses: ValueState[ExecutorLosses]
    progress: ValueState[StageProgress]
    templates: MapState[LearnedTemplate]
    plan_cache: PlanCache = field(default_factory=PlanCache)


def in_memory_run_state() -> RunState:
    """Return a state in the memory of the process, for tests and for replays without Flink."""
    return RunState(
        last_seq=InMemoryValueState(),
        row_epoch=InMemoryValueState(),
        application=InMemoryValueState(),
        stages=InMemoryMapState(),
        queries=InMemoryMapState(),
        sql_plans=InMemoryMapState(),
        samples=InMemoryMapState(),
        jobs=InMemoryMapState(),
        executors=InMemoryMapState(),
        pods=InMemoryMapState(),
        losses=InMemoryValueState(),
        progress=InMemoryValueState(),
        templates=InMemoryMapState(),
    )


def started_stage(stage_id: int, state: RunState) -> StageState | None:
    """Return the stage; None when its start was lost, even if its end was seen."""
    stage = state.stages.get(str(stage_id))
    return stage if stage and stage.start_seen else None


def application_of(state: RunState) -> ApplicationState:
    """Return the application of the current key; the application is stored when its first row arrives."""
    application = state.application.value()
    assert application is not None
    return application


def add_count(state: RunState, counter: str, by: int) -> None:
    """Add ``by`` to one of the application's counters; ``counter`` names a field of ApplicationState."""
    application = application_of(state)
    state.application.update(replace(application, **{counter: max(0, getattr(application, counter) + by)}))


def oldest_unused(names: Iterable[str], used: Collection[int | None], limit: int) -> list[int]:
    """Return the lowest numbers that are not in use: a quarter of ``limit``, at least one.

    Spark numbers stages and queries in the order of their starts. A quarter is dropped at once, because the names must
    be read for that.
    """
    return sorted(number for number in map(int, names) if number not in used)[: max(1, limit // 4)]
