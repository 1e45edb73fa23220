"""Baselines: says of each row of a stage what was expected of it, and learns from runs that ended well.

One stage of one job is one key. What a run is judged by was known before it started, so rows of one run read alike
whenever they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.baseline import Sample, expect, learn
from sparkfuse_rules.knowledge.lessons import expected_columns
from sparkfuse_stream_jobs.detect.identify import Lesson
from sparkfuse_stream_jobs.detect.memory import Cell

Seed = Callable[[str, str], Baseline | None]
_COUNTS = ("cpu_ms", "work_bytes", "work_records", "num_tasks")


@dataclass(frozen=True)
class Memory:
    """The baseline of one stage, and where to look for one that an earlier life of the job wrote."""

    baseline: Cell[Baseline]
    seed: Seed

    def recall(self, job_key: str, stage_fingerprint: str) -> Baseline | None:
        """The baseline: the state wins, a seed is taken over only where there is no state."""
        known = self.baseline.get()
        if known is None and (known := self.seed(job_key, stage_fingerprint)) is not None:
            self.baseline.put(known)
        return known


def judge(row: LiveRow, memory: Memory) -> LiveRow:
    """The row of a stage with what was expected of it; unchanged while fewer than five earlier runs are known."""
    baseline = memory.recall(row.job_key, row.stage.stage_fingerprint)
    if baseline is None:
        return row
    stage = row.stage
    expectation = expect(
        [sample_of(each) for each in baseline.samples],
        stage.work_bytes if stage.HasField("work_bytes") else None,
        stage.work_records if stage.HasField("work_records") else None,
        known_before_ms=row.app_start_ms,
        running=stage.status == "running",
    )
    if expectation is None:
        return row
    elapsed_ms = stage.elapsed_ms if stage.HasField("elapsed_ms") else None
    for name, value in expected_columns(expectation, elapsed_ms, _cpu_ms(row)).items():
        setattr(stage, name, value)
    return row


def teach(lesson: Lesson, memory: Memory) -> Baseline:
    """Add what a run taught, and give the new baseline to be written down."""
    taught = lesson.baseline
    known = memory.recall(taught.job_key, taught.stage_fingerprint)
    sample = sample_of(taught.samples[0])
    samples = learn(
        [each for each in map(sample_of, known.samples) if not _is_same(each, sample)] if known else (), sample
    )
    baseline = Baseline(
        job_key=taught.job_key,
        stage_fingerprint=taught.stage_fingerprint,
        stage_name=taught.stage_name,
        updated_ms=taught.updated_ms,
        samples=[message_of(sample) for sample in samples],
    )
    memory.baseline.put(baseline)
    return baseline


def _is_same(known: Sample, taught: Sample) -> bool:
    """Whether a baseline that was seeded from the run's event log has this stage of it already."""
    return (known.run_key, known.learned_ms, known.wall_ms, known.num_tasks) == (
        taught.run_key, taught.learned_ms, taught.wall_ms, taught.num_tasks,
    )  # fmt: skip


def sample_of(message: BaselineSample) -> Sample:
    """The sample as the knowledge functions take it."""
    counts = {name: getattr(message, name) if message.HasField(name) else None for name in _COUNTS}
    return Sample(message.run_key, message.learned_ms, message.wall_ms, abnormal=message.abnormal, **counts)


def message_of(sample: Sample) -> BaselineSample:
    """The sample as it is written down."""
    message = BaselineSample(
        run_key=sample.run_key, learned_ms=sample.learned_ms, wall_ms=sample.wall_ms, abnormal=sample.abnormal
    )
    for name in _COUNTS:
        if (value := getattr(sample, name)) is not None:
            setattr(message, name, value)
    return message


def _cpu_ms(row: LiveRow) -> int | None:
    stage = row.stage
    if not stage.HasField("finished_cpu_ms") and not stage.HasField("running_cpu_ms"):
        return None
    return stage.finished_cpu_ms + stage.running_cpu_ms
