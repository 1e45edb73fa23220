"""The history of a job: its runs, what its next run is expected to take, its baselines, and its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.baseline_rows import Baseline, baselines, explained
from sparkfuse_native_analytics.queries.expected_rows import MAX_BASELINES
from sparkfuse_native_analytics.queries.finding_rows import Finding, FindingFilter, latest_findings, severest_findings
from sparkfuse_native_analytics.queries.run_filter import RunFilter
from sparkfuse_native_analytics.queries.run_pages import RunPage, find_runs
from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_rules.knowledge.explanation import Explanation
from sparkfuse_rules.knowledge.training_samples import APPLICATION

PERIOD_MS = 90 * 24 * 3_600_000
MAX_RESOLVED = 20


@dataclass(frozen=True)
class JobFacts:
    """What the store has about a job; ``baselines`` start with the one of the whole application."""

    found: RunPage
    open: Sequence[Finding]
    resolved: Sequence[Finding]
    baselines: Sequence[Baseline]


@dataclass(frozen=True)
class StageBaseline:
    """What a stage of the next run of a job is expected to take for its usual work; all durations are in ms.

    ``runs`` is the number of earlier runs of the expectation; ``missing_reason`` says why there is none. The
    fingerprint of the whole application is ``application``. ``level_changed_ms`` is in ms since the epoch.
    """

    stage_fingerprint: str
    stage_name: str | None
    runs: int
    expected_ms: int | None
    expected_p95_ms: int | None
    missing_reason: str | None
    level_changed_ms: int | None


@dataclass(frozen=True)
class JobHistory:
    """A job: its latest runs of 90 days, its baselines by expected duration, and its findings.

    ``baselines_total`` is the number of all baselines. Each run has its own completeness.
    """

    job_key: str
    runs: list[Run]
    baselines: list[StageBaseline]
    baselines_total: int
    open_findings: list[Finding]
    resolved_findings: list[Finding]


def job_facts(client: Client, job_key: str, now_ms: int, limit: int) -> JobFacts | None:
    """Return the rows about a job, at most ``limit`` runs and findings; None if the store has none.

    Raises StoreEmptyError.
    """
    found = JobFacts(
        find_runs(client, RunFilter(since_ms=now_ms - PERIOD_MS, job_key=job_key), limit),
        severest_findings(client, FindingFilter(state="firing", job_key=job_key), limit),
        latest_findings(client, FindingFilter(state="resolved", job_key=job_key), MAX_RESOLVED),
        sorted(baselines(client, MAX_BASELINES, job_key=job_key), key=_application_first),
    )
    return found if found.found.runs or found.open or found.resolved or found.baselines else None


def job_history(client: Client, job_key: str, now_ms: int, limit: int) -> JobHistory | None:
    """Return the history of a job with at most ``limit`` rows per list; None if the store has no such job.

    Raises StoreEmptyError.
    """
    facts = job_facts(client, job_key, now_ms, limit)
    if facts is None:
        return None
    known = [_stage_baseline(each, explained(each, now_ms)) for each in facts.baselines]
    known.sort(key=lambda each: (each.stage_fingerprint != APPLICATION, -(each.expected_ms or 0)))
    return JobHistory(
        job_key, facts.found.runs, known[:limit], len(known), list(facts.open), list(facts.resolved)[:limit]
    )


def _application_first(baseline: Baseline) -> tuple[bool, str]:
    return baseline.stage_fingerprint != APPLICATION, baseline.stage_fingerprint


def _stage_baseline(baseline: Baseline, why: Explanation) -> StageBaseline:
    expected = why.expected
    return StageBaseline(
        stage_fingerprint=baseline.stage_fingerprint,
        stage_name=baseline.stage_name,
        runs=len(why.training_runs),
        expected_ms=expected.expected_ms if expected else None,
        expected_p95_ms=expected.expected_p95_ms if expected else None,
        missing_reason=why.missing_reason,
        level_changed_ms=baseline.level_changed_ms,
    )
