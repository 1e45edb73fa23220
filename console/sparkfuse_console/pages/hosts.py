"""The page of one host: the findings that name it, and the runs that used it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Client, Finding, FindingFilter, Run, RunFilter, RunOnHost

PERIOD_MS = 7 * 24 * 3_600_000


class _Answer(NamedTuple):
    findings: Sequence[Finding]
    used: Sequence[RunOnHost]
    runs: Mapping[tuple[str, int, int], Run]


def show(site: Site, request: Request) -> Response:
    """Show what the store knows of a host in the last seven days."""
    host = str(request.path_params["host"])
    found = site.store.ask(lambda client: _host(client, host))
    if not (found.findings or found.used):
        sentence = "The store has no finding and no executor of a host with this name in the last seven days."
        return site.not_found(request, sentence)
    return site.page(
        request,
        "host.html",
        host=host,
        findings=found.findings,
        used=[
            (each, found.runs.get((each.app_id, each.app_start_ms, each.app_attempt)))
            for each in found.used[:PAGE_SIZE]
        ],
        more=len(found.used) > PAGE_SIZE,
    )


def _host(client: Client, host: str) -> _Answer:
    since_ms = time.time_ns() // 1_000_000 - PERIOD_MS
    used = queries.runs_on_host(client, host, since_ms, PAGE_SIZE + 1)
    ids = tuple({each.app_id for each in used})
    runs = queries.find_runs(client, RunFilter(app_ids=ids), 10 * PAGE_SIZE).runs if ids else []
    return _Answer(
        queries.latest_findings(client, FindingFilter(host=host, since_ms=since_ms), PAGE_SIZE),
        used,
        {(each.app_id, each.app_start_ms, each.app_attempt): each for each in runs},
    )
