"""Generates the facts of many running applications from the stages of real event logs.

Each stage is drawn from the real stages, and its tasks from the tasks of that stage, so that the distributions of
sizes, skew and bytes are kept. All durations are multiplied by one factor, so that tasks have the requested mean
duration.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sparkfuse_collectors.logs.lines import Chunk
from sparkfuse_collectors.ship.translation import EVENTS, Shipper, Translation
from sparkfuse_contracts.generated import fact_pb2
from sparkfuse_kernel import EventLogDecoder
from tests.bench.fact_records import BULK, RESERVED, Encoder, Origin, PendingFact
from tests.oracle.containers import unpack

# Interval of executor samples and task progress.
SAMPLE_MS = 5_000
# Limit of tasks per stage: a stage must end soon after its application has stopped starting new stages.
MAX_TASKS = 20
EXECUTORS, HOSTS = 4, 120
LIFE_MS = (240_000, 720_000)
# The longest of twenty stages takes minutes longer than the others, so applications take long to end. At least this
# share of them must be starting new stages.
MIN_OPEN_SHARE = 0.6
_MOVING = (
    "cpu_ns", "memory_spilled_bytes", "disk_spilled_bytes", "input_bytes", "input_records", "output_bytes",
    "output_records", "shuffle_read_records", "shuffle_write_bytes", "shuffle_write_records",
)  # fmt: skip


class Sent(NamedTuple):
    """A record of the topic facts: its key and its value."""

    app_id: str
    value: bytes


@dataclass(frozen=True)
class RealStage:
    """A stage of a real run: its start, and the ends of its succeeded tasks."""

    started: fact_pb2.StageStarted
    tasks: Sequence[fact_pb2.TaskEnded]


@dataclass(frozen=True)
class Shape:
    """The size of the fleet. ``task_ms`` is the mean duration of tasks over all stages."""

    applications: int
    stages: int
    slots: int
    task_ms: float


def real_stages(logs: Sequence[Path]) -> list[RealStage]:
    """Return those stages of real runs that have a successful task with metrics."""
    found: dict[tuple[int, int, int], tuple[fact_pb2.StageStarted, list[fact_pb2.TaskEnded]]] = {}
    for number, log in enumerate(logs):
        decoder = EventLogDecoder(events=EVENTS)
        decoder.feed(unpack(log.read_bytes()).data)
        decoder.finish()
        records = Translation(Shipper("fleet", "", "")).records(Chunk(decoder.take_events(), 0, at_end=True))
        for fact in map(fact_pb2.Fact.FromString, records):
            if fact.HasField("stage_started"):
                stage = fact.stage_started
                found[number, stage.stage_id, stage.stage_attempt] = (stage, [])
            elif fact.HasField("task_ended") and fact.task_ended.outcome == "success" and fact.task_ended.has_metrics:
                task = fact.task_ended
                found[number, task.stage_id, task.stage_attempt][1].append(task)
    return [RealStage(started, tasks) for started, tasks in found.values() if tasks]


@dataclass
class _Running:
    """A running stage: the real stage that it repeats, and how many of its tasks started and ended."""

    stage_id: int
    real: RealStage
    tasks: int
    started: int = 0
    ended: int = 0


@dataclass
class _Task:
    """A running task: its start time, its executor, and the fact to send when it ends."""

    end: fact_pb2.TaskEnded
    began_ms: int
    executor: int


@dataclass(eq=False)
class _Application:
    """One run of an application; it starts new stages while ``open``."""

    name: str
    app_id: str
    start_ms: int
    ends_ms: int
    driver: Encoder
    executors: list[Encoder]
    hosts: list[str]
    numbers: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    running: dict[int, _Running] = field(default_factory=dict)
    tasks: list[dict[int, _Task]] = field(default_factory=list)
    next_stage: int = 0
    next_task: int = 0
    gc_ms: list[int] = field(default_factory=lambda: [0] * EXECUTORS)
    open: bool = True


class Fleet:
    """A constant number of parallel applications with a constant total number of running stages.

    After its lifetime, an application starts no new stages, unless too few other applications do, and ends with its
    last stage. Then the next run of its job starts. Each stage that ends is replaced by a new stage in the open
    application with the fewest stages. ``until`` sets the time [ms since epoch]; the same seed and times give the same
    facts.
    """

    def __init__(self, stages: Sequence[RealStage], shape: Shape, seed: int, began_ms: int, ramp_ms: int) -> None:
        self._stages, self._shape, self._random = stages, shape, random.Random(seed)
        self._stretch = stretch(stages, shape)
        self._due: list[tuple[int, int, Callable[[int], Iterator[Sent]]]] = []
        self._order = 0
        self._runs = 0
        self._open: list[_Application] = []
        self._min_open = max(1.0, MIN_OPEN_SHARE * shape.applications)
        for number in range(shape.applications):
            self._at(began_ms + ramp_ms * number // shape.applications, self._begin_application(job_name(number)))

    def until(self, now_ms: int) -> Iterator[Sent]:
        """Yield all facts up to this time, in order."""
        while self._due and self._due[0][0] <= now_ms:
            at_ms, _, action = heapq.heappop(self._due)
            yield from action(at_ms)

    def _at(self, at_ms: int, action: Callable[[int], Iterator[Sent]]) -> None:
        self._order += 1
        heapq.heappush(self._due, (at_ms, self._order, action))

    def _begin_application(self, name: str) -> Callable[[int], Iterator[Sent]]:
        def action(now_ms: int) -> Iterator[Sent]:
            app = self._application(name, now_ms)
            self._open.append(app)
            yield from self._start(app, now_ms)
            for _ in range(self._shape.stages):
                yield from self._begin_stage(app, now_ms)

        return action

    def _application(self, name: str, now_ms: int) -> _Application:
        self._runs += 1
        app_id = f"application_{now_ms}_{self._runs:05d}"

        def encoder(collector: str) -> Encoder:
            return Encoder(Origin("bench", "fleet", app_id, 0, now_ms, f"{collector}-{self._runs:08x}"))

        return _Application(
            name, app_id, now_ms, now_ms + self._random.randint(*LIFE_MS), encoder("driver"),
            [encoder(f"executor-{number}") for number in range(EXECUTORS)],
            [f"host-{self._random.randrange(HOSTS):04d}" for _ in range(EXECUTORS)],
            tasks=[{} for _ in range(EXECUTORS)],
        )  # fmt: skip

    def _start(self, app: _Application, now_ms: int) -> Iterator[Sent]:
        """Start the application and its executors, without a stage."""
        yield self._fact(app, now_ms, "application_started", fact_pb2.ApplicationStarted(name=app.name))
        for number, host in enumerate(app.hosts):
            cores = self._shape.stages * self._shape.slots // EXECUTORS
            added = fact_pb2.ExecutorAdded(executor_id=str(number), host=host, cores=cores, added_ms=now_ms)
            yield self._fact(app, now_ms, "executor_added", added)
            self._at(now_ms + self._random.randrange(SAMPLE_MS), self._sample(app, number))

    def _fact(self, app: _Application, at_ms: int, kind: str, message: object, executor: int = -1) -> Sent:
        """Return the next fact of the driver or of one executor."""
        lane = BULK if kind in {"task_started", "task_progress", "executor_sample"} else RESERVED
        number = app.numbers[executor, lane]
        app.numbers[executor, lane] = number + 1
        encoder = app.driver if executor < 0 else app.executors[executor]
        return Sent(app.app_id, encoder.record(PendingFact(lane, at_ms, kind, f"{lane}{number}", message), number))

    def _begin_stage(self, app: _Application, now_ms: int) -> Iterator[Sent]:
        real = self._random.choice(self._stages)
        stage_id = app.next_stage
        app.next_stage += 1
        stage = _Running(stage_id, real, min(MAX_TASKS, max(1, real.started.num_tasks)))
        app.running[stage_id] = stage
        job = fact_pb2.JobStarted(job_id=stage_id, submitted_ms=now_ms, stage_ids=[stage_id])
        started = fact_pb2.StageStarted()
        started.CopyFrom(real.started)
        started.stage_id, started.stage_attempt, started.num_tasks = stage_id, 0, stage.tasks
        started.submitted_ms, started.job_id = now_ms, stage_id
        started.ClearField("parent_stage_ids")
        started.ClearField("sql_execution_id")
        yield self._fact(app, now_ms, "job_started", job)
        yield self._fact(app, now_ms, "stage_started", started)
        for _ in range(min(self._shape.slots, stage.tasks)):
            yield from self._begin_task(app, stage, now_ms)

    def _begin_task(self, app: _Application, stage: _Running, now_ms: int) -> Iterator[Sent]:
        task_id, executor = app.next_task, app.next_task % EXECUTORS
        app.next_task += 1
        end = fact_pb2.TaskEnded()
        end.CopyFrom(self._random.choice(stage.real.tasks))
        length_ms = max(1, int(end.duration_ms * self._stretch))
        # All durations are multiplied by the same factor.
        end.run_ms, end.cpu_ns = int(end.run_ms * self._stretch), int(end.cpu_ns * self._stretch)
        end.gc_ms = int(end.gc_ms * self._stretch)
        end.stage_id, end.stage_attempt, end.task_id, end.task_index = stage.stage_id, 0, task_id, stage.started
        end.executor_id, end.host = str(executor), app.hosts[executor]
        end.launched_ms, end.finished_ms, end.duration_ms = now_ms, now_ms + length_ms, length_ms
        stage.started += 1
        app.tasks[executor][task_id] = _Task(end, now_ms, executor)
        started = fact_pb2.TaskStarted(
            stage_id=stage.stage_id, stage_attempt=0, task_id=task_id, task_index=end.task_index, task_attempt=0,
            executor_id=end.executor_id, host=end.host, launched_ms=now_ms,
        )  # fmt: skip
        yield self._fact(app, now_ms, "task_started", started)
        self._at(now_ms + length_ms, self._end_task(app, stage, task_id, executor))

    def _end_task(
        self, app: _Application, stage: _Running, task_id: int, executor: int
    ) -> Callable[[int], Iterator[Sent]]:
        def action(now_ms: int) -> Iterator[Sent]:
            task = app.tasks[executor].pop(task_id)
            app.gc_ms[executor] += task.end.gc_ms
            stage.ended += 1
            yield self._fact(app, now_ms, "task_ended", task.end)
            if stage.started < stage.tasks:
                yield from self._begin_task(app, stage, now_ms)
            elif stage.ended == stage.tasks:
                yield from self._end_stage(app, stage, now_ms)

        return action

    def _end_stage(self, app: _Application, stage: _Running, now_ms: int) -> Iterator[Sent]:
        del app.running[stage.stage_id]
        ended = fact_pb2.StageEnded(
            stage_id=stage.stage_id, stage_attempt=0, num_tasks=stage.tasks, completed_ms=now_ms, succeeded=True
        )
        job = fact_pb2.JobEnded(job_id=stage.stage_id, completed_ms=now_ms, succeeded=True)
        yield self._fact(app, now_ms, "stage_ended", ended)
        yield self._fact(app, now_ms, "job_ended", job)
        if now_ms >= app.ends_ms and app.open and len(self._open) > self._min_open:
            app.open = False
            self._open.remove(app)
        if not app.open and not app.running:
            over = fact_pb2.ApplicationEnded(ended_ms=now_ms, succeeded_jobs=app.next_stage, failed_jobs=0)
            yield self._fact(app, now_ms, "application_ended", over)
            following = self._application(app.name, now_ms)
            self._open.append(following)
            yield from self._start(following, now_ms)
        yield from self._begin_stage(min(self._open, key=lambda each: len(each.running)), now_ms)

    def _sample(self, app: _Application, executor: int) -> Callable[[int], Iterator[Sent]]:
        def action(now_ms: int) -> Iterator[Sent]:
            if not app.open and not app.running:
                return
            tasks = app.tasks[executor]
            heap = self._random.randint(1 << 29, 3 << 29)
            sample = fact_pb2.ExecutorSample(
                executor_id=str(executor), host=app.hosts[executor], interval_ms=SAMPLE_MS, heap_used_bytes=heap,
                heap_max_bytes=1 << 32, gc_ms=app.gc_ms[executor], gc_delta_ms=self._random.randrange(100),
                rss_bytes=heap + (1 << 29), running_tasks=len(tasks),
            )  # fmt: skip
            yield self._fact(app, now_ms, "executor_sample", sample, executor)
            for task in tasks.values():
                yield self._fact(app, now_ms, "task_progress", _progress(task, now_ms), executor)
            self._at(now_ms + SAMPLE_MS, self._sample(app, executor))

        return action


def stretch(stages: Sequence[RealStage], shape: Shape) -> float:
    """Return the requested mean duration of tasks, divided by the mean duration in the real runs."""
    lengths = [sum(task.duration_ms for task in each.tasks) / len(each.tasks) for each in stages]
    return shape.task_ms / max(1.0, sum(lengths) / len(lengths))


def job_name(number: int) -> str:
    """Return a job name of letters only.

    Job keys do not contain digits, so all names that differ only in numbers would be one job.
    """
    return "fleet-" + "".join(chr(ord("k") + int(digit)) for digit in f"{number:04d}")


def _progress(task: _Task, now_ms: int) -> fact_pb2.TaskProgress:
    """Return a progress fact of a task that proceeds at a constant rate."""
    end = task.end
    done = (now_ms - task.began_ms) / end.duration_ms
    progress = fact_pb2.TaskProgress(
        stage_id=end.stage_id, stage_attempt=0, task_id=end.task_id, task_index=end.task_index, task_attempt=0,
        executor_id=end.executor_id, host=end.host, age_ms=now_ms - task.began_ms, stalled_ms=0,
        cpu_since_progress_ms=0, activity="moving",
    )  # fmt: skip
    for name in _MOVING:
        setattr(progress, name, int(getattr(end, name) * done))
    return progress
