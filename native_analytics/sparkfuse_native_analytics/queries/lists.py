"""Lists with pages: each page has an opaque cursor to the next one."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.cursor import CursorError, decode, encode
from sparkfuse_native_analytics.queries.expected_rows import expected_durations
from sparkfuse_native_analytics.queries.finding_rows import (
    SEVERITIES,
    Finding,
    FindingFilter,
    FindingPlace,
    severest_findings,
)
from sparkfuse_native_analytics.queries.run_filter import RunFilter, RunPlace
from sparkfuse_native_analytics.queries.run_pages import find_runs
from sparkfuse_native_analytics.queries.run_report import StageReport, stage_report
from sparkfuse_native_analytics.queries.run_rows import Query, Run
from sparkfuse_native_analytics.queries.run_rows import run as run_details

RUNS, FINDINGS, STAGES, QUERIES = "runs", "findings", "stages", "queries"
_ATTEMPTS = range(1 << 31)


@dataclass(frozen=True)
class RunList:
    """Runs, the newest first; ``next_cursor`` selects the next page, None at the end of the list."""

    runs: list[Run]
    next_cursor: str | None


@dataclass(frozen=True)
class FindingList:
    """Findings, the most severe first, then the newest; ``next_cursor`` selects the next page, None at the end."""

    findings: list[Finding]
    next_cursor: str | None


@dataclass(frozen=True)
class StageList:
    """Stage attempts by id; ``next_cursor`` selects the next page, None at the end. ``total`` is their number."""

    app_id: str
    stages: list[StageReport]
    total: int
    next_cursor: str | None


@dataclass(frozen=True)
class QueryList:
    """Queries by id; ``next_cursor`` selects the next page, None at the end. ``total`` is their number.

    ``completeness`` is that of the run, from 0 to 1; None if it is unknown.
    """

    app_id: str
    queries: list[Query]
    total: int
    completeness: float | None
    next_cursor: str | None


def list_runs(client: Client, wanted: RunFilter, limit: int, cursor: str = "") -> RunList:
    """Return at most ``limit`` runs from the place of the cursor, newest first.

    Raises CursorError, StoreEmptyError.
    """
    values = decode(cursor, RUNS, (int, str, int))
    place = None
    if values:
        place = RunPlace(int(values[0]), str(values[1]), int(values[2]))
        if not place.app_id or place.app_attempt not in _ATTEMPTS:
            raise CursorError("The cursor is not one of runs: send next_cursor of the previous page, or no cursor.")
    page = find_runs(client, wanted, limit, place)
    end = page.next
    return RunList(page.runs, encode(RUNS, (end.app_start_ms, end.app_id, end.app_attempt)) if end else None)


def list_findings(client: Client, wanted: FindingFilter, limit: int, cursor: str = "") -> FindingList:
    """Return at most ``limit`` findings from the place of the cursor. Raises CursorError, StoreEmptyError."""
    values = decode(cursor, FINDINGS, (int, int, str))
    place = FindingPlace(int(values[0]), int(values[1]), str(values[2])) if values else None
    if place and not 0 < place.rank <= len(SEVERITIES) + 1:
        raise CursorError("The cursor is not one of findings: send next_cursor of the previous page, or no cursor.")
    found = severest_findings(client, wanted, limit + 1, place)
    last = FindingPlace.of(found[limit - 1]) if len(found) > limit else None
    following = encode(FINDINGS, (last.rank, last.started_ms, last.finding_id)) if last else None
    return FindingList(found[:limit], following)


def list_stages(client: Client, app_id: str, limit: int, cursor: str = "") -> StageList | None:
    """Return at most ``limit`` stage attempts of a run; None if it is not stored.

    Raises CursorError, StoreEmptyError.
    """
    after = decode(cursor, STAGES, (int, int)) or (-1, -1)
    details = run_details(client, app_id)
    if details is None:
        return None
    following = [each for each in details.stages if (each.stage_id, each.stage_attempt) > (after[0], after[1])]
    shown = following[:limit]
    expected = expected_durations(client, details.run, shown)
    more = len(following) > limit
    return StageList(
        app_id,
        [stage_report(each, expected) for each in shown],
        len(details.stages),
        encode(STAGES, (shown[-1].stage_id, shown[-1].stage_attempt)) if more else None,
    )


def list_queries(client: Client, app_id: str, limit: int, cursor: str = "") -> QueryList | None:
    """Return at most ``limit`` queries of a run; None if it is not stored. Raises CursorError, StoreEmptyError."""
    (after,) = decode(cursor, QUERIES, (int,)) or (-1,)
    details = run_details(client, app_id)
    if details is None:
        return None
    following = [each for each in details.queries if each.query_id > int(after)]
    shown = following[:limit]
    return QueryList(
        app_id,
        shown,
        len(details.queries),
        details.run.completeness,
        encode(QUERIES, (shown[-1].query_id,)) if len(following) > limit else None,
    )
