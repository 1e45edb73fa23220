"""Searches runs, jobs, findings and hosts with one text."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.executor_rows import runs_on_host
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingFilter, finding, severest_findings
from sparkfuse_native_analytics.queries.run_filter import RunFilter
from sparkfuse_native_analytics.queries.run_pages import find_runs
from sparkfuse_native_analytics.queries.run_rows import Run

DAY_MS = 24 * 3_600_000
RUN_DAYS = 90
HOST_DAYS = 7


@dataclass(frozen=True)
class SearchResult:
    """What matches a text; each list has at most the requested number of entries.

    ``runs`` have the text in their name or id, ``job_keys`` contain it; both are of runs of the last 90 days.
    ``findings`` have the text as their id or in their job key. ``hosts`` has the text if executors of the last seven
    days ran on a host with exactly this name.
    """

    text: str
    runs: list[Run]
    job_keys: list[str]
    findings: list[Finding]
    hosts: list[str]


def search(client: Client, text: str, now_ms: int, limit: int) -> SearchResult:
    """Return what matches the text. Raises StoreEmptyError."""
    since_ms = now_ms - RUN_DAYS * DAY_MS
    named = find_runs(client, RunFilter(since_ms=since_ms, text=text), limit).runs
    of_jobs = find_runs(client, RunFilter(since_ms=since_ms, job_text=text), limit).runs
    exact = finding(client, text)
    others = severest_findings(client, FindingFilter(job_text=text), limit)
    found = [*([exact] if exact else []), *(each for each in others if exact is None or each != exact)]
    return SearchResult(
        text=text,
        runs=named,
        job_keys=list(dict.fromkeys(each.job_key for each in of_jobs)),
        findings=found[:limit],
        hosts=[text] if runs_on_host(client, text, now_ms - HOST_DAYS * DAY_MS, 1) else [],
    )
