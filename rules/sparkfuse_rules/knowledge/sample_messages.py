"""Convert training samples to messages of the contract and back."""

from __future__ import annotations

from sparkfuse_contracts.generated.baseline_pb2 import BaselineSample
from sparkfuse_rules.knowledge.baseline import Sample

_COUNTS = (
    "cpu_ms", "work_bytes", "work_records", "num_tasks", "operator_rows", "between_jobs_ms", "disk_spilled_bytes",
    "level_ratio", "spark_version", "executors", "plan",
)  # fmt: skip


def sample_of(message: BaselineSample) -> Sample:
    """Return the sample that a message contains; a count that is absent in the message becomes None, not 0."""
    counts = {name: getattr(message, name) if message.HasField(name) else None for name in _COUNTS}
    return Sample(
        run_key=message.run_key,
        learned_ms=message.learned_ms,
        wall_ms=message.wall_ms,
        abnormal=message.abnormal,
        reference=message.reference,
        slow_runs=message.slow_runs,
        **counts,
    )


def message_of(sample: Sample) -> BaselineSample:
    """Return the message that contains a sample; a count that is None is absent in the message."""
    message = BaselineSample(
        run_key=sample.run_key, learned_ms=sample.learned_ms, wall_ms=sample.wall_ms, abnormal=sample.abnormal
    )
    if sample.reference:
        message.reference = True
    if sample.slow_runs:
        message.slow_runs = sample.slow_runs
    for name in _COUNTS:
        if (value := getattr(sample, name)) is not None:
            setattr(message, name, value)
    return message
