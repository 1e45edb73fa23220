"""The page of one job: its runs, its baselines and its findings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import charts
from sparkfuse_console.expectations import APPLICATION, MAX_BASELINES
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Baseline, Client, Finding, FindingFilter, RunFilter, RunPage
from sparkfuse_rules.knowledge.explanation import Explanation

PERIOD_MS = 90 * 24 * 3_600_000
RESOLVED_SHOWN = 20


class _Answer(NamedTuple):
    found: RunPage
    open: Sequence[Finding]
    resolved: Sequence[Finding]
    baselines: Sequence[Baseline]


def show(site: Site, request: Request) -> Response:
    """Show the history of a job: durations, level changes, baselines, open and resolved findings."""
    job_key = str(request.path_params["job_key"])
    found = site.store.ask(lambda client: _job(client, job_key))
    if not (found.found.runs or found.open or found.resolved or found.baselines):
        sentence = "The store has no run, finding or baseline of a job with this key; the list of runs shows the keys."
        return site.not_found(request, sentence)
    now_ms = time.time_ns() // 1_000_000
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


def _job(client: Client, job_key: str) -> _Answer:
    since_ms = time.time_ns() // 1_000_000 - PERIOD_MS
    return _Answer(
        queries.find_runs(client, RunFilter(since_ms=since_ms, job_key=job_key), PAGE_SIZE),
        queries.severest_findings(client, FindingFilter(state="firing", job_key=job_key), PAGE_SIZE),
        queries.latest_findings(client, FindingFilter(state="resolved", job_key=job_key), RESOLVED_SHOWN),
        sorted(queries.baselines(client, MAX_BASELINES, job_key=job_key), key=_fingerprint),
    )


def _fingerprint(baseline: Baseline) -> tuple[bool, str]:
    return baseline.stage_fingerprint != APPLICATION, baseline.stage_fingerprint


def _order(pair: tuple[Baseline, Explanation]) -> tuple[bool, float]:
    """Order the whole application first, then the stages that take the longest."""
    baseline, explanation = pair
    expected = explanation.expected.expected_ms if explanation.expected else 0.0
    return baseline.stage_fingerprint != APPLICATION, -expected
