"""The list of runs, and the page of one run."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_console.timeline import timeline
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import RunFilter

DAY_MS = 24 * 3_600_000
PERIODS = {"7d": 7, "1d": 1, "30d": 30, "90d": 90}
STATUSES = ("", "running", "succeeded", "failed")
REFRESH_SECONDS = 5


def index(site: Site, request: Request) -> Response:
    """List runs, newest first, with filters and pages."""
    chosen = {
        "status": parameters.choice(request, "status", STATUSES),
        "job": parameters.text(request, "job"),
        "who": parameters.text(request, "who"),
        "text": parameters.text(request, "text"),
        "period": parameters.choice(request, "period", tuple(PERIODS)),
    }
    after = parameters.cursor(request)
    wanted = RunFilter(
        since_ms=time.time_ns() // 1_000_000 - PERIODS[chosen["period"]] * DAY_MS,
        status=chosen["status"],
        job_text=chosen["job"],
        who=chosen["who"],
        text=chosen["text"],
    )
    found = site.store.ask(lambda client: queries.list_runs(client, wanted, PAGE_SIZE, after))
    return site.page(
        request,
        "runs.html",
        runs=found.runs,
        chosen=chosen,
        filtered=bool(chosen["status"] or chosen["job"] or chosen["who"] or chosen["text"]),
        first=not after,
        next_page=found.next_cursor and parameters.address("/runs", {**chosen, "after": found.next_cursor}),
        statuses=STATUSES,
        periods=PERIODS,
    )


def show(site: Site, request: Request) -> Response:
    """Show one run: its state, findings with evidence, queries, stages, executors and steps of the fuse."""
    app_id = str(request.path_params["app_id"])
    found = site.store.ask(lambda client: queries.run_report(client, app_id, site.prices, PAGE_SIZE))
    if found is None:
        sentence = (
            "The store has no application with this id. A new application appears here a few seconds after it started."
        )
        return site.not_found(request, sentence)
    owner, team = site.owners.of(found.run.job_key)
    end_ms = found.run.app_start_ms + (found.run.elapsed_ms or 0)
    stages = [(each.stage, each.expected.expected_ms if each.expected else None) for each in found.stages]
    return site.page(
        request,
        "run.html",
        run=found.run,
        owner=found.run.owner or owner,
        team=found.run.team or team,
        cost=found.cost.amount,
        currency=found.cost.currency,
        findings=[(each, [of for of in each.runs if of.app_id == app_id]) for each in found.findings],
        deadline_ms=found.deadline_ms,
        deadline_source=found.deadline_source,
        stages=[(each.stage, each) for each in found.stages],
        timeline=timeline(stages, found.run.app_start_ms, end_ms),
        hidden_stages=found.stages_total - len(found.stages),
        queries=found.queries,
        hidden_queries=found.queries_total - len(found.queries),
        executors=found.executors[:PAGE_SIZE],
        more_executors=len(found.executors) > PAGE_SIZE,
        steps=found.fuse_steps,
        expected=found.expected,
        refresh_seconds=REFRESH_SECONDS if found.run.status == "running" else None,
    )
