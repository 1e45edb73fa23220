"""The questions that REST, MCP and the command line ask: parameters, answers, and the functions that answer them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client
from pydantic import ConfigDict, TypeAdapter, ValidationError

from sparkfuse_native_analytics.queries.comparable_run import stored_comparison
from sparkfuse_native_analytics.queries.costs import Costs, costs
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingFilter, finding
from sparkfuse_native_analytics.queries.fleet_rows import Coverage, FuseState, coverage, fuse_state
from sparkfuse_native_analytics.queries.job_advice import JobAdvice, job_advice
from sparkfuse_native_analytics.queries.job_advice_outcomes import JobOutcomes, job_outcomes
from sparkfuse_native_analytics.queries.job_history import JobHistory, job_history
from sparkfuse_native_analytics.queries.lists import (
    FindingList,
    QueryList,
    RunList,
    StageList,
    list_findings,
    list_queries,
    list_runs,
    list_stages,
)
from sparkfuse_native_analytics.queries.question_parameters import (
    AdviceWanted,
    ComparisonWanted,
    CostsWanted,
    CostWanted,
    CoverageWanted,
    FindingsWanted,
    FindingWanted,
    FuseWanted,
    JobWanted,
    PartsWanted,
    RunsWanted,
    RunWanted,
    SearchWanted,
)
from sparkfuse_native_analytics.queries.run_explanation import RunExplanation, explain_run
from sparkfuse_native_analytics.queries.run_filter import RunFilter
from sparkfuse_native_analytics.queries.run_report import RunCost, RunReport, run_cost, run_report
from sparkfuse_native_analytics.queries.search import SearchResult, search
from sparkfuse_rules.prices import Prices

DAY_MS = 24 * 3_600_000


class QuestionError(ValueError):
    """A parameter of a question is wrong; the message is one sentence that names it."""


@dataclass(frozen=True)
class Context:
    """What an answer depends on besides its parameters. ``now_ms`` is in ms since the epoch."""

    client: Client
    prices: Prices | None
    now_ms: int = dataclasses.field(default_factory=lambda: time.time_ns() // 1_000_000)


@dataclass(frozen=True)
class Question:
    """One question.

    ``path`` is the address below /api/v1, with parameters in braces. ``ask`` returns None if the thing that the
    parameters name does not exist; ``missing`` is the sentence for this case. The answer is a dataclass, or for a
    comparison a JSON object as in contracts/documents/comparison.proto.
    """

    name: str
    path: str
    summary: str
    parameters: type[Any]
    ask: Callable[[Context, Any], Any]
    answer: type[Any]
    missing: str = ""

    def wanted(self, values: Mapping[str, object]) -> Any:
        """Return the checked parameters. Raises QuestionError for an unknown, absent or wrong parameter."""
        try:
            return TypeAdapter(self.parameters).validate_python(dict(values))
        except ValidationError as error:
            raise QuestionError(_sentence(error)) from error

    def answer_to(self, context: Context, values: Mapping[str, object]) -> Any:
        """Return the answer as a JSON object; None if the thing does not exist.

        Raises QuestionError, CursorError, StoreEmptyError and StoreUnavailableError.
        """
        return as_json(self.ask(context, self.wanted(values)))


def as_json(answer: object) -> Any:
    """Return an answer as JSON values; numbers that are not finite, which JSON does not have, become None."""
    return TypeAdapter(Any, config=ConfigDict(ser_json_inf_nan="null")).dump_python(answer, mode="json")


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    name = ".".join(map(str, first["loc"])) or "?"
    kinds = {"unexpected_keyword_argument": "is unknown", "missing": "is required", "missing_argument": "is required"}
    reason = kinds.get(first["type"]) or f"is wrong: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"The parameter {name[:100]} {reason}."


def _runs(context: Context, wanted: RunsWanted) -> Any:
    chosen = RunFilter(
        since_ms=context.now_ms - wanted.days * DAY_MS,
        status=wanted.status,
        job_text=wanted.job,
        team=wanted.team,
        user=wanted.user,
        cluster=wanted.cluster,
        text=wanted.text,
    )
    return list_runs(context.client, chosen, wanted.limit, wanted.cursor)


def _findings(context: Context, wanted: FindingsWanted) -> Any:
    chosen = FindingFilter(
        state=wanted.state,
        severity=wanted.severity,
        team=wanted.team,
        job_text=wanted.job,
        app_id=wanted.app_id,
        host=wanted.host,
    )
    return list_findings(context.client, chosen, wanted.limit, wanted.cursor)


def _comparison(context: Context, wanted: ComparisonWanted) -> dict[str, Any] | None:
    return stored_comparison(context.client, wanted.before, wanted.after)


_NO_RUN = "The store has no application with this id; the list of runs shows the ids."
QUESTIONS = (
    Question(
        "search",
        "/search",
        "Find runs, jobs, findings and hosts by one text.",
        SearchWanted,
        lambda context, wanted: search(context.client, wanted.text, context.now_ms, wanted.limit),
        SearchResult,
    ),
    Question(
        "search_runs",
        "/runs",
        "List runs, the newest first.",
        RunsWanted,
        _runs,
        RunList,
    ),
    Question(
        "get_run",
        "/runs/{app_id}",
        "Show one run: state, findings, expected durations, cost, queries, stages, executors, steps of the fuse.",
        RunWanted,
        lambda context, wanted: run_report(context.client, wanted.app_id, context.prices, wanted.limit),
        RunReport,
        _NO_RUN,
    ),
    Question(
        "explain_run",
        "/runs/{app_id}/explanation",
        "Explain why a run was slow or failed: first cause, excess of each stage over its expected duration, findings.",
        RunWanted,
        lambda context, wanted: explain_run(context.client, wanted.app_id, wanted.limit),
        RunExplanation,
        _NO_RUN,
    ),
    Question(
        "list_queries",
        "/runs/{app_id}/queries",
        "List the queries (SQL executions) of a run by id.",
        PartsWanted,
        lambda context, wanted: list_queries(context.client, wanted.app_id, wanted.limit, wanted.cursor),
        QueryList,
        _NO_RUN,
    ),
    Question(
        "list_stages",
        "/runs/{app_id}/stages",
        "List the stage attempts of a run by id, with their expected durations.",
        PartsWanted,
        lambda context, wanted: list_stages(context.client, wanted.app_id, wanted.limit, wanted.cursor),
        StageList,
        _NO_RUN,
    ),
    Question(
        "cost",
        "/runs/{app_id}/cost",
        "Show what a run has cost so far.",
        CostWanted,
        lambda context, wanted: run_cost(context.client, wanted.app_id, context.prices),
        RunCost,
        _NO_RUN,
    ),
    Question(
        "costs",
        "/costs",
        "Show what teams or jobs cost and waste in a period, the largest waste first.",
        CostsWanted,
        lambda context, wanted: costs(
            context.client,
            context.prices,
            wanted.by,
            context.now_ms - wanted.days * DAY_MS,
            team=wanted.team,
            limit=wanted.limit,
        ),
        Costs,
    ),
    Question(
        "compare_runs",
        "/comparison",
        "Explain the difference in duration between two runs; causes, stages and time outside stages add up to it.",
        ComparisonWanted,
        _comparison,
        dict,
        "The store lacks one of the two applications; the list of runs shows the ids.",
    ),
    Question(
        "job_history",
        "/jobs/{job_key}",
        "Show a job: its runs, the expected durations of its next run, and its findings.",
        JobWanted,
        lambda context, wanted: job_history(context.client, wanted.job_key, context.now_ms, wanted.limit),
        JobHistory,
        "The store has no job with this key; the list of runs shows the keys.",
    ),
    Question(
        "advise",
        "/jobs/{job_key}/advice",
        "Advise settings for the next runs of a job, with predicted durations, from at least five successful runs.",
        AdviceWanted,
        lambda context, wanted: job_advice(context.client, wanted.job_key, context.prices, context.now_ms),
        JobAdvice,
        "The store has no run of this job in the last 90 days; the list of runs shows the keys.",
    ),
    Question(
        "advice_outcomes",
        "/jobs/{job_key}/advice/outcomes",
        "Show the outcomes of the advice for a job: proposed, applied, verified by later runs, or without a gain.",
        AdviceWanted,
        lambda context, wanted: job_outcomes(context.client, wanted.job_key, context.prices, context.now_ms),
        JobOutcomes,
        "The store has no run of this job in the last 90 days; the list of runs shows the keys.",
    ),
    Question(
        "list_findings",
        "/findings",
        "List findings, the most severe first, then the newest.",
        FindingsWanted,
        _findings,
        FindingList,
    ),
    Question(
        "get_finding",
        "/findings/{finding_id}",
        "Show one finding with its evidence and runs.",
        FindingWanted,
        lambda context, wanted: finding(context.client, wanted.finding_id),
        Finding,
        "The store has no finding with this id; the list of findings shows the ids.",
    ),
    Question(
        "fuse_status",
        "/fuse",
        "Show what the fuse did or would have done.",
        FuseWanted,
        lambda context, wanted: fuse_state(
            context.client, context.now_ms - wanted.days * DAY_MS, wanted.limit, wanted.app_id
        ),
        FuseState,
    ),
    Question(
        "coverage",
        "/coverage",
        "Show how many runs were observed while they ran, and how complete their data is.",
        CoverageWanted,
        lambda context, wanted: coverage(context.client, context.now_ms - wanted.days * DAY_MS),
        Coverage,
    ),
)
