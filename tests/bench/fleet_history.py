"""Generates baselines of earlier runs of the fleet's jobs, because jobs with baselines cost more than new ones.

The samples of a stage are drawn from the tasks of its real stage, as in the fleet. There are no samples of whole jobs,
because the number of stages of a run is random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.generated.fact_pb2 import TaskEnded
from sparkfuse_rules.knowledge.identity import identify
from sparkfuse_rules.knowledge.stage_graph import fingerprint_in_run
from sparkfuse_stream_jobs.detect.state.run_state import StageState
from tests.bench.fleet import MAX_TASKS, RealStage, Shape, job_name, stretch

# Size of the pool of samples that all jobs share; drawing tasks for each job would take minutes.
POOL = 200
HOUR_MS = 3_600_000


@dataclass
class _OneStage:
    """A run with only this stage."""

    stage: StageState

    def started(self, stage_id: int) -> StageState:
        return self.stage

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        return ()

    def store_fingerprint(self, stage_id: int, fingerprint: str) -> None:
        self.stage = replace(self.stage, fingerprint=fingerprint)


def fingerprint(real: RealStage) -> str:
    """Return the fingerprint of a stage; stages of the fleet have neither parents nor a query."""
    started = real.started
    depth = started.depth if started.HasField("depth") else None
    stage = StageState(start_seen=True, name=started.name, scope_names=tuple(started.scope_names), depth=depth)
    return fingerprint_in_run(0, started.name, _OneStage(stage))


def baselines(stages: Sequence[RealStage], shape: Shape, runs: int, seed: int, now_ms: int) -> Iterator[Baseline]:
    """Yield the baseline of each stage of each job after ``runs`` hourly runs; the last run was an hour ago."""
    generator, factor = random.Random(seed), stretch(stages, shape)
    pools: dict[str, tuple[str, list[BaselineSample]]] = {}
    for real in stages:
        name, pool = pools.setdefault(fingerprint(real), (real.started.name, []))
        pool.extend(_sample(real, shape.slots, factor, generator) for _ in range(POOL))
    for number in range(shape.applications):
        job = identify({}, job_name(number), "", 0, 0).job_key
        for stage, (name, pool) in pools.items():
            samples = [BaselineSample.FromString(each.SerializeToString()) for each in generator.sample(pool, runs)]
            for age, sample in enumerate(reversed(samples), start=1):
                sample.run_key, sample.learned_ms = f"{job}-{runs - age}", now_ms - age * HOUR_MS
            yield Baseline(
                cluster="bench", tenant="fleet", job_key=job, stage_fingerprint=stage, stage_name=name,
                updated_ms=now_ms - HOUR_MS, samples=samples,
            )  # fmt: skip


def _sample(real: RealStage, slots: int, factor: float, generator: random.Random) -> BaselineSample:
    count = min(MAX_TASKS, max(1, real.started.num_tasks))
    tasks: list[TaskEnded] = generator.choices(real.tasks, k=count)
    busy = [0.0] * slots
    for task in tasks:
        free = busy.index(min(busy))
        busy[free] += max(1.0, task.duration_ms * factor)
    return BaselineSample(
        wall_ms=int(max(busy)),
        cpu_ms=int(sum(task.cpu_ns for task in tasks) * factor / 1e6),
        work_bytes=sum(task.input_bytes + task.shuffle_read_bytes for task in tasks),
        work_records=sum(task.input_records + task.shuffle_read_records for task in tasks),
        num_tasks=count,
        abnormal=False,
    )
