"""Queries that read runs, one run, findings, steps of the fuse, and baselines from the store."""

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.baseline_rows import Baseline, BaselineSample, baselines
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingRun, findings
from sparkfuse_native_analytics.queries.fuse_steps import FuseStep, fuse_steps
from sparkfuse_native_analytics.queries.run_rows import Query, Run, RunDetails, Stage, run, runs
from sparkfuse_native_analytics.queries.select import StoreEmptyError

__all__ = [
    "Baseline",
    "BaselineSample",
    "Client",
    "Finding",
    "FindingRun",
    "FuseStep",
    "Query",
    "Run",
    "RunDetails",
    "Stage",
    "StoreEmptyError",
    "baselines",
    "findings",
    "fuse_steps",
    "run",
    "runs",
]
