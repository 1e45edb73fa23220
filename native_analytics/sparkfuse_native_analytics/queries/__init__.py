"""What people ask of the store: runs, one run, findings, actions, baselines."""

from sparkfuse_native_analytics.queries.actions import Action, actions
from sparkfuse_native_analytics.queries.baselines import Baseline, BaselineSample, baselines
from sparkfuse_native_analytics.queries.findings import Finding, FindingRun, findings
from sparkfuse_native_analytics.queries.rows import StoreEmptyError
from sparkfuse_native_analytics.queries.runs import Run, RunDetails, Stage, run, runs

__all__ = [
    "Action",
    "Baseline",
    "BaselineSample",
    "Finding",
    "FindingRun",
    "Run",
    "RunDetails",
    "Stage",
    "StoreEmptyError",
    "actions",
    "baselines",
    "findings",
    "run",
    "runs",
]
