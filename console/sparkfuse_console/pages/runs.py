"""The list of runs, and the page of one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.expectations import ExpectedDuration, expected_durations
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import (
    Allocation,
    Client,
    Executor,
    Finding,
    FindingFilter,
    FuseStep,
    RunDetails,
    RunFilter,
    RunPlace,
)
from sparkfuse_rules.knowledge.money import cost
from sparkfuse_rules.prices import Prices

DAY_MS = 24 * 3_600_000
PERIODS = {"7d": 7, "1d": 1, "30d": 30, "90d": 90}
STATUSES = ("", "running", "succeeded", "failed")
MAX_FINDINGS = 100
MAX_STEPS = 50
REFRESH_SECONDS = 5


class _Answer(NamedTuple):
    details: RunDetails
    findings: Sequence[Finding]
    executors: Sequence[Executor]
    allocation: Allocation | None
    steps: Sequence[FuseStep]
    expected: ExpectedDuration


def index(site: Site, request: Request) -> Response:
    """List runs, newest first, with filters and pages."""
    chosen = {
        "status": parameters.choice(request, "status", STATUSES),
        "job": parameters.text(request, "job"),
        "who": parameters.text(request, "who"),
        "text": parameters.text(request, "text"),
        "period": parameters.choice(request, "period", tuple(PERIODS)),
    }
    after = _place(request)
    wanted = RunFilter(
        since_ms=time.time_ns() // 1_000_000 - PERIODS[chosen["period"]] * DAY_MS,
        status=chosen["status"],
        job_text=chosen["job"],
        who=chosen["who"],
        text=chosen["text"],
    )
    found = site.store.ask(lambda client: queries.find_runs(client, wanted, PAGE_SIZE, after))
    end = found.next
    return site.page(
        request,
        "runs.html",
        runs=found.runs,
        chosen=chosen,
        filtered=bool(chosen["status"] or chosen["job"] or chosen["who"] or chosen["text"]),
        first=after is None,
        next_page=end and parameters.address("/runs", chosen, (end.app_start_ms, end.app_id, end.app_attempt)),
        statuses=STATUSES,
        periods=PERIODS,
    )


def _place(request: Request) -> RunPlace | None:
    values = parameters.cursor(request, 3)
    if values is None:
        return None
    attempt = parameters.integer(values[2])
    if not 0 <= attempt < 1 << 31 or not values[1]:
        raise parameters.ParameterError("The parameter after is wrong: follow the links from the first page.")
    return RunPlace(parameters.integer(values[0]), values[1], attempt)


def show(site: Site, request: Request) -> Response:
    """Show one run: its state, findings with evidence, queries, stages, executors and steps of the fuse."""
    app_id = str(request.path_params["app_id"])
    found = site.store.ask(lambda client: _run(client, app_id))
    if found is None:
        sentence = (
            "The store has no application with this id. A new application appears here a few seconds after it started."
        )
        return site.not_found(request, sentence)
    run = found.details.run
    owner, team = site.owners.of(run.job_key)
    return site.page(
        request,
        "run.html",
        run=run,
        owner=run.owner or owner,
        team=run.team or team,
        cost=_cost(found.allocation, site.prices),
        currency=site.prices.currency if site.prices else None,
        findings=[(each, [of for of in each.runs if of.app_id == app_id]) for each in found.findings],
        stages=found.details.stages[-PAGE_SIZE:],
        hidden_stages=max(0, len(found.details.stages) - PAGE_SIZE),
        queries=found.details.queries[-PAGE_SIZE:],
        hidden_queries=max(0, len(found.details.queries) - PAGE_SIZE),
        executors=found.executors[:PAGE_SIZE],
        more_executors=len(found.executors) > PAGE_SIZE,
        steps=found.steps,
        expected=found.expected,
        refresh_seconds=REFRESH_SECONDS if run.status == "running" else None,
    )


def _run(client: Client, app_id: str) -> _Answer | None:
    details = queries.run(client, app_id)
    if details is None:
        return None
    run = details.run
    shown = details.stages[-PAGE_SIZE:]
    return _Answer(
        details,
        queries.latest_findings(client, FindingFilter(app_id=app_id), MAX_FINDINGS),
        queries.executors(client, run, PAGE_SIZE + 1),
        queries.allocation(client, run),
        queries.fuse_steps(client, MAX_STEPS, app_id=app_id),
        expected_durations(client, run, shown),
    )


def _cost(allocated: Allocation | None, prices: Prices | None) -> float | None:
    if allocated is None:
        return None
    memory = allocated.memory_mib_ms
    return cost(allocated.core_ms / 1000, None if memory is None else memory / 1024 / 1000, prices)
