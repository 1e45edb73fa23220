"""The page with advice for the next runs of a job."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries


def show(site: Site, request: Request) -> Response:
    """Show settings with which the job ``job`` would be faster or cheaper, and what earlier advice gained."""
    job_key = parameters.text(request, "job")
    now_ms = time.time_ns() // 1_000_000
    found = site.store.ask(lambda client: queries.job_advice(client, job_key, site.prices, now_ms)) if job_key else None
    outcomes = (
        site.store.ask(lambda client: queries.job_outcomes(client, job_key, site.prices, now_ms, proposals=False))
        if found
        else None
    )
    if found is None:
        return site.not_found(request, "The store has no run of a job with this key in the last 90 days.")
    return site.page(request, "advice.html", found=found, outcomes=outcomes)
