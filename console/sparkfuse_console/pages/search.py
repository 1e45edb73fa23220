"""The page of search results: runs, jobs, findings and hosts that match one text."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries

SHOWN = 20


def show(site: Site, request: Request) -> Response:
    """Show what matches the text; without a text, only the field."""
    text = parameters.text(request, "q")
    now_ms = time.time_ns() // 1_000_000
    found = site.store.ask(lambda client: queries.search(client, text, now_ms, SHOWN)) if text else None
    return site.page(request, "search.html", text=text, found=found, shown=SHOWN)
