"""The page of one job: its runs, its baselines and its findings."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import charts
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Baseline
from sparkfuse_rules.knowledge.explanation import Explanation
from sparkfuse_rules.knowledge.training_samples import APPLICATION


def show(site: Site, request: Request) -> Response:
    """Show the history of a job: durations, level changes, baselines, open and resolved findings."""
    job_key = str(request.path_params["job_key"])
    now_ms = time.time_ns() // 1_000_000
    found = site.store.ask(lambda client: queries.job_facts(client, job_key, now_ms, PAGE_SIZE))
    if found is None:
        sentence = "The store has no run, finding or baseline of a job with this key; the list of runs shows the keys."
        return site.not_found(request, sentence)
    explained = [(each, queries.explained(each, now_ms)) for each in found.baselines[:PAGE_SIZE]]
    whole = next((why for each, why in explained if each.stage_fingerprint == APPLICATION), None)
    expected_ms = whole.expected.expected_ms if whole and whole.expected else None
    return site.page(
        request,
        "job.html",
        job_key=job_key,
        runs=found.found.runs,
        more_runs=found.found.next is not None,
        chart=charts.durations(found.found.runs, expected_ms),
        whole=whole,
        level_changes=[each for each in found.baselines if each.level_changed_ms],
        baselines=sorted(explained, key=_order),
        hidden_baselines=len(found.baselines) - len(explained),
        open=found.open,
        resolved=found.resolved,
        application=APPLICATION,
    )


def _order(pair: tuple[Baseline, Explanation]) -> tuple[bool, float]:
    """Order the whole application first, then the stages that take the longest."""
    baseline, explanation = pair
    expected = explanation.expected.expected_ms if explanation.expected else 0.0
    return baseline.stage_fingerprint != APPLICATION, -expected
