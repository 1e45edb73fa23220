"""What earlier runs of the fleet's jobs would have taught: jobs that are known cost more than new ones.

Each stage has samples drawn as the fleet draws its stages, from the tasks of the real stage that it is like; the whole
of a job has none, for how many stages a run has is drawn anew each time.
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
from tests.bench.fleet import MOST_TASKS, RealStage, Shape, job_name, stretch

# Samples that the jobs share, each in an order of its own: to draw tasks for every job would take minutes.
POOL = 200
HOUR_MS = 3_600_000


@dataclass
class _OneStage:
    """A run that has this stage alone."""

    stage: StageState

    def started(self, stage_id: int) -> StageState:
        return self.stage

    def plan_nodes(self, sql_execution_id: int) -> Sequence[str]:
        return ()

    def keep(self, stage_id: int, fingerprint: str) -> None:
        self.stage = replace(self.stage, fingerprint=fingerprint)


def fingerprint(like: RealStage) -> str:
    """That of a stage of the fleet, which has neither parents nor a query."""
    started = like.started
    depth = started.depth if started.HasField("depth") else None
    stage = StageState(start_seen=True, name=started.name, scope_names=tuple(started.scope_names), depth=depth)
    return fingerprint_in_run(0, started.name, _OneStage(stage))


def baselines(stages: Sequence[RealStage], shape: Shape, runs: int, seed: int, now_ms: int) -> Iterator[Baseline]:
    """The baseline of each stage of each job after so many runs, one an hour, the last of them an hour ago."""
    chance, longer = random.Random(seed), stretch(stages, shape)
    pools: dict[str, tuple[str, list[BaselineSample]]] = {}
    for like in stages:
        name, pool = pools.setdefault(fingerprint(like), (like.started.name, []))
        pool.extend(_sample(like, shape.slots, longer, chance) for _ in range(POOL))
    for number in range(shape.applications):
        job = identify({}, job_name(number), "", 0, 0).job_key
        for stage, (name, pool) in pools.items():
            samples = [BaselineSample.FromString(each.SerializeToString()) for each in chance.sample(pool, runs)]
            for age, sample in enumerate(reversed(samples), start=1):
                sample.run_key, sample.learned_ms = f"{job}-{runs - age}", now_ms - age * HOUR_MS
            yield Baseline(
                cluster="bench", tenant="fleet", job_key=job, stage_fingerprint=stage, stage_name=name,
                updated_ms=now_ms - HOUR_MS, samples=samples,
            )  # fmt: skip


def _sample(like: RealStage, slots: int, longer: float, chance: random.Random) -> BaselineSample:
    count = min(MOST_TASKS, max(1, like.started.num_tasks))
    tasks: list[TaskEnded] = chance.choices(like.tasks, k=count)
    busy = [0.0] * slots
    for task in tasks:
        free = busy.index(min(busy))
        busy[free] += max(1.0, task.duration_ms * longer)
    return BaselineSample(
        wall_ms=int(max(busy)),
        cpu_ms=int(sum(task.cpu_ns for task in tasks) * longer / 1e6),
        work_bytes=sum(task.input_bytes + task.shuffle_read_bytes for task in tasks),
        work_records=sum(task.input_records + task.shuffle_read_records for task in tasks),
        num_tasks=count,
        abnormal=False,
    )
