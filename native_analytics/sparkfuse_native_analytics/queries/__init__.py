"""The query core: reads runs, findings, baselines and steps of the fuse from the store, and answers about them.

The module `questions` has the questions of REST and MCP with their parameters.
"""

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.allocation_rows import Allocation, allocation
from sparkfuse_native_analytics.queries.baseline_rows import Baseline, BaselineSample, baselines, explained
from sparkfuse_native_analytics.queries.comparable_run import comparable_run, stored_comparison
from sparkfuse_native_analytics.queries.costs import CostRow, Costs, Waste, costs
from sparkfuse_native_analytics.queries.cursor import CursorError
from sparkfuse_native_analytics.queries.executor_rows import Executor, RunOnHost, executors, runs_on_host
from sparkfuse_native_analytics.queries.expected_rows import MAX_BASELINES, ExpectedDuration
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
from sparkfuse_native_analytics.queries.job_advice import JobAdvice, job_advice
from sparkfuse_native_analytics.queries.job_advice_outcomes import JobOutcomes, job_outcomes
from sparkfuse_native_analytics.queries.job_days import JobDay, job_days
from sparkfuse_native_analytics.queries.job_history import JobFacts, job_facts
from sparkfuse_native_analytics.queries.lists import FindingList, RunList, list_findings, list_runs
from sparkfuse_native_analytics.queries.run_explanation import RunExplanation, UsualRun, explain_run
from sparkfuse_native_analytics.queries.run_filter import RunFilter, RunPlace
from sparkfuse_native_analytics.queries.run_pages import RunPage, find_runs, runs
from sparkfuse_native_analytics.queries.run_report import RunCost, RunReport, StageReport, run_cost, run_report
from sparkfuse_native_analytics.queries.run_rows import Query, Run, RunDetails, Stage, run
from sparkfuse_native_analytics.queries.search import SearchResult, search
from sparkfuse_native_analytics.queries.select import StoreEmptyError

__all__ = [
    "MAX_BASELINES",
    "SEVERITIES",
    "Allocation",
    "Baseline",
    "BaselineSample",
    "Client",
    "CostRow",
    "Costs",
    "CursorError",
    "Executor",
    "ExpectedDuration",
    "Feedback",
    "Finding",
    "FindingCount",
    "FindingFilter",
    "FindingList",
    "FindingPlace",
    "FindingRun",
    "FuseStep",
    "JobAdvice",
    "JobDay",
    "JobFacts",
    "JobOutcomes",
    "Query",
    "Run",
    "RunCost",
    "RunDetails",
    "RunExplanation",
    "RunFilter",
    "RunList",
    "RunOnHost",
    "RunPage",
    "RunPlace",
    "RunReport",
    "SearchResult",
    "Stage",
    "StageReport",
    "StoreEmptyError",
    "UsualRun",
    "Waste",
    "allocation",
    "baselines",
    "comparable_run",
    "costs",
    "count_findings",
    "demotion_of",
    "executors",
    "explain_run",
    "explained",
    "feedback",
    "find_runs",
    "finding",
    "findings",
    "fuse_steps",
    "job_advice",
    "job_days",
    "job_facts",
    "job_outcomes",
    "latest_findings",
    "list_findings",
    "list_runs",
    "rule_precisions",
    "run",
    "run_cost",
    "run_report",
    "runs",
    "runs_on_host",
    "search",
    "severest_findings",
    "stored_comparison",
]
