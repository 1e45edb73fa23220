"""Reads the runs of jobs, page by page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_filter import RunFilter, RunPlace
from sparkfuse_native_analytics.queries.run_places import has_identity, run_places
from sparkfuse_native_analytics.queries.run_rows import Run, select_runs

BLOCK = 200
MOST_READ = 100_000
"""The number of runs after which a search ends although its page is not full."""
MOST_CANDIDATES = 5_000
"""The same number for runs that are found by their identity, which takes one request for about 40 runs."""
# clickhouse_connect sends parameters of more than 4,096 bytes as a form; the other parameters have at most 1,000.
MOST_BYTES = 3_000
# A start in ms, and the quotes and commas of both lists after URL encoding.
_PLACE_BYTES = 30


@dataclass(frozen=True)
class RunPage:
    """Some runs, newest first, and the place from which the next page starts; None at the end of the list."""

    runs: list[Run]
    next: RunPlace | None


def runs(client: Client, limit: int = 50, *, job_key: str | None = None, since_ms: int = 0) -> list[Run]:
    """Return the latest runs that started at ``since_ms`` or later, newest first.

    If ``job_key`` is given, only runs of this job are returned.

    Raises StoreEmptyError.
    """
    return find_runs(client, RunFilter(since_ms=since_ms, job_key=job_key or ""), limit).runs


def find_runs(client: Client, wanted: RunFilter, limit: int, after: RunPlace | None = None) -> RunPage:
    """Return at most ``limit`` runs, newest first; with ``after``, those that follow this place.

    If the filter has a job, a person or a text, the runs are found by their identity. Some of these runs may have
    another status, so a page may need several reads. After ``MOST_READ`` runs, or ``MOST_CANDIDATES`` runs that were
    found by their identity, the page ends, and ``next`` continues the search.

    Raises StoreEmptyError.
    """
    by_identity = has_identity(wanted) and not wanted.app_ids
    block = BLOCK if by_identity and (wanted.status or wanted.cluster) else limit + 1
    found: list[Run] = []
    read = 0
    while read < (MOST_CANDIDATES if by_identity else MOST_READ):
        if by_identity:
            places = run_places(client, wanted, block, after)
            rows = [row for group in groups(places) for row in _at(client, wanted, group)]
        else:
            rows = select_runs(client, wanted, block, after)
            places = [RunPlace.of(each) for each in rows]
        read += len(places)
        for each in rows:
            if _is_wanted(each, wanted):
                if len(found) == limit:
                    return RunPage(found, RunPlace.of(found[-1]) if found else after)
                found.append(each)
        if len(places) < block:
            return RunPage(found, None)
        after = places[-1]
    return RunPage(found, after)


def groups(places: Sequence[RunPlace]) -> Iterator[list[RunPlace]]:
    """Yield the places in groups whose ids fit into the address of one request.

    A client sends longer parameters as a form, which the embedded store does not accept.
    """
    group: list[RunPlace] = []
    size = 0
    for place in places:
        length = len(quote(place.app_id, safe="")) + _PLACE_BYTES
        if group and size + length > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(place)
        size += length
    if group:
        yield group


def _at(client: Client, wanted: RunFilter, places: Sequence[RunPlace]) -> list[Run]:
    """Return the wanted runs that have these places."""
    starts = sorted({each.app_start_ms for each in places})
    chosen = dataclasses.replace(
        wanted, since_ms=starts[0], until_ms=starts[-1], app_ids=tuple(sorted({each.app_id for each in places}))
    )
    # A place has no more runs than the attempts that started at its time.
    rows = select_runs(client, chosen, MOST_READ, None, starts)
    wanted_places = set(places)
    return [each for each in rows if RunPlace.of(each) in wanted_places]


def _is_wanted(run: Run, wanted: RunFilter) -> bool:
    return (
        wanted.job_key in ("", run.job_key)
        and wanted.job_text.casefold() in run.job_key.casefold()
        and wanted.who in ("", run.user_name, run.owner, run.team)
        and wanted.team in ("", run.team)
    )
