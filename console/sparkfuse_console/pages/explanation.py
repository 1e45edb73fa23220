"""The page that explains why a run was slow or failed, and what would have changed its duration."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries

SHOWN = 50
MIN_EXCESS_MS = 1_000
"""A stage that took less than this above its expected duration is shown only if it exceeds its p95."""
VERDICTS = {
    "failed": "The run failed.",
    "slow": "The run is slower than expected.",
    "as_expected": "The run took as long as expected.",
    "unknown": "Whether the run is slow is not known: its job has too few earlier runs, or the run has not ended.",
}


def show(site: Site, request: Request) -> Response:
    """Explain the latest attempt of the application ``run``."""
    app_id = parameters.text(request, "run")
    found = site.store.ask(lambda client: queries.explain_run(client, app_id, SHOWN)) if app_id else None
    if found is None:
        return site.not_found(request, "The store has no application with this id. The list of runs shows all ids.")
    return site.page(
        request,
        "explanation.html",
        run=found.run,
        verdict=VERDICTS[found.verdict],
        first_cause=found.first_cause,
        expected=found.expected,
        excess_ms=found.excess_ms,
        usual=found.usual,
        queries=[each for each in found.usual.queries if each.difference_ms] if found.usual else [],
        excess=[each for each in found.excess if each.above_p95 or each.excess_ms >= MIN_EXCESS_MS],
        predictions=found.predictions,
        findings=found.findings,
        completeness=found.completeness,
    )
