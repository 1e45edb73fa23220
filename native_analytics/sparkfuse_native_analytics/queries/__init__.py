"""Queries on the store: runs, one run, findings, actions, baselines."""

from sparkfuse_native_analytics.queries.action_rows import Action, actions
from sparkfuse_native_analytics.queries.baseline_rows import Baseline, BaselineSample, baselines
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingRun, findings
from sparkfuse_native_analytics.queries.run_rows import Query, Run, RunDetails, Stage, run, runs
from sparkfuse_native_analytics.queries.select import StoreEmptyError

__all__ = [
    "Action",
    "Baseline",
    "BaselineSample",
    "Finding",
    "FindingRun",
    "Query",
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
