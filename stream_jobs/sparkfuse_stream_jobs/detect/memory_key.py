"""Whose memory a baseline is."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.baseline_pb2 import Baseline

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
