"""Accepts the longer level of a job: its runs become the reference in the topic ``baselines``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.knowledge.baseline import fit
from sparkfuse_rules.knowledge.sample_messages import sample_of
from sparkfuse_stream_jobs.detect.baseline_backfill import send_baselines
from sparkfuse_stream_jobs.detect.baseline_bootstrap import read_published_baselines
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, with_accepted_level


class NoBaselineError(LookupError):
    """The topic has no baseline with this key."""


class NoLevelError(LookupError):
    """The newest runs of the job are not longer than its reference runs."""


@dataclass(frozen=True)
class AcceptedLevel:
    """The level that was accepted: its ratio to the reference, the end of its first run, and its number of runs."""

    ratio: float
    since_ms: int
    runs: int


def accept_level(settings: Settings, key: BaselineKey, accepted_ms: int) -> AcceptedLevel:
    """Accept the longer level of one baseline, and publish the baseline.

    The record contains all samples, so it can replace the earlier record in the compacted topic. A running detect job
    reads it and accepts the level in its state.

    Raises:
        NoBaselineError: the topic has no baseline with this key.
        NoLevelError: there is no longer level.
        KafkaException: the broker does not answer, or rejects the record.
    """
    published = read_published_baselines(settings)
    try:
        baseline = published(key)
    finally:
        published.close()
    if baseline is None:
        raise NoBaselineError(key.job_key)
    level = longer_level(baseline, accepted_ms)
    send_baselines(settings, [with_accepted_level(baseline, accepted_ms)])
    return level


def longer_level(baseline: Baseline, now_ms: int) -> AcceptedLevel:
    """Return the longer level of the newest runs. Raises NoLevelError."""
    fitted = fit([sample_of(each) for each in baseline.samples], now_ms)
    level = fitted.history.level if fitted is not None and fitted.history is not None else None
    if level is None:
        raise NoLevelError(baseline.job_key)
    return AcceptedLevel(math.exp(level.shift), level.since_ms, level.runs)
