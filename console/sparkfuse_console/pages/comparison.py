"""The page that compares two runs: the causes, queries and stages of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Client, Run, RunFilter

SHOWN = 50
CHOICES = 20
"""The number of runs of the same job that the page offers as the first run."""


class _Answer(NamedTuple):
    comparison: dict[str, Any] | None
    choices: Sequence[Run]


def show(site: Site, request: Request) -> Response:
    """Compare the runs ``before`` and ``after``; without ``before``, offer the other runs of the job of ``after``."""
    before, after = (parameters.text(request, name) for name in ("before", "after"))
    found = site.store.ask(lambda client: _ask(client, before, after))
    if before and after and found.comparison is None:
        sentence = "The store lacks one of the two applications. The list of runs shows all that it has."
        return site.not_found(request, sentence)
    return site.page(
        request,
        "compare.html",
        before=before,
        after=after,
        comparison=found.comparison,
        choices=found.choices,
        shown=SHOWN,
    )


def _ask(client: Client, before: str, after: str) -> _Answer:
    if before and after:
        return _Answer(queries.stored_comparison(client, before, after), [])
    known = queries.run(client, after) if after else None
    if known is None:
        return _Answer(None, [])
    same = queries.find_runs(client, RunFilter(job_key=known.run.job_key), CHOICES + 1).runs
    return _Answer(None, [each for each in same if each.app_id != after][:CHOICES])
