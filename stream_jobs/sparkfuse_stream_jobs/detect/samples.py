"""A baseline as the knowledge functions take it: whose it is, and its samples."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_rules.knowledge.baseline import Sample

_COUNTS = ("cpu_ms", "work_bytes", "work_records", "num_tasks", "operator_rows")
# What a collector says of itself that was told neither cluster nor tenant.
DEFAULT = "default"


@dataclass(frozen=True)
class Key:
    """Whose memory it is. ``stage_fingerprint`` is ``application`` for the whole of a job."""

    cluster: str
    tenant: str
    job_key: str
    stage_fingerprint: str


def key_of_baseline(baseline: Baseline) -> Key:
    """Whose baseline it is; one that was written before it said cluster and tenant is that of the default ones."""
    return Key(baseline.cluster or DEFAULT, baseline.tenant or DEFAULT, baseline.job_key, baseline.stage_fingerprint)


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
