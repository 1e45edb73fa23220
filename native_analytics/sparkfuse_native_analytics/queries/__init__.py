"""Queries that read runs, one run, executors, findings, steps of the fuse, and baselines from the store."""

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.baseline_rows import Baseline, BaselineSample, baselines, explained
from sparkfuse_native_analytics.queries.executor_rows import (
    Allocation,
    Executor,
    RunOnHost,
    allocation,
    executors,
    runs_on_host,
)
from sparkfuse_native_analytics.queries.feedback_rows import Feedback, demotion_of, feedback, rule_precisions
from sparkfuse_native_analytics.queries.finding_rows import (
    SEVERITIES,
    Finding,
    FindingCount,
    FindingFilter,
    FindingPlace,
    FindingRun,
    count_findings,
    finding,
    findings,
    latest_findings,
    severest_findings,
)
from sparkfuse_native_analytics.queries.fuse_steps import FuseStep, fuse_steps
from sparkfuse_native_analytics.queries.run_rows import (
    Query,
    Run,
    RunDetails,
    RunFilter,
    RunPage,
    RunPlace,
    Stage,
    find_runs,
    run,
    runs,
)
from sparkfuse_native_analytics.queries.select import StoreEmptyError

__all__ = [
    "SEVERITIES",
    "Allocation",
    "Baseline",
    "BaselineSample",
    "Client",
    "Executor",
    "Feedback",
    "Finding",
    "FindingCount",
    "FindingFilter",
    "FindingPlace",
    "FindingRun",
    "FuseStep",
    "Query",
    "Run",
    "RunDetails",
    "RunFilter",
    "RunOnHost",
    "RunPage",
    "RunPlace",
    "Stage",
    "StoreEmptyError",
    "allocation",
    "baselines",
    "count_findings",
    "demotion_of",
    "executors",
    "explained",
    "feedback",
    "find_runs",
    "finding",
    "findings",
    "fuse_steps",
    "latest_findings",
    "rule_precisions",
    "run",
    "runs",
    "runs_on_host",
    "severest_findings",
]
