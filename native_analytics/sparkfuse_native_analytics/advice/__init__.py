"""Advises settings for the next runs of a job, from predictions over at least five runs."""

from sparkfuse_native_analytics.advice.advise import (
    MIN_DURATION_MS,
    MIN_RUNS,
    Advice,
    RunEvidence,
    Setting,
    advise,
    is_short,
    same_configuration,
)

__all__ = [
    "MIN_DURATION_MS",
    "MIN_RUNS",
    "Advice",
    "RunEvidence",
    "Setting",
    "advise",
    "is_short",
    "same_configuration",
]
