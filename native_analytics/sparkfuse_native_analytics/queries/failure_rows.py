"""Reads why a run failed: the first cause that the detect job found, or else the failure text of a stage or query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_rows import RunDetails
from sparkfuse_native_analytics.queries.select import select
from sparkfuse_rules.knowledge.failures import classify
from sparkfuse_rules.knowledge.first_cause import first_cause


@dataclass(frozen=True)
class FailureCause:
    """The first cause of a failure: one exception on one line of at most 500 characters.

    ``failure`` names what happened, ``failure_kind`` who can fix it, and ``retry`` whether a retry can succeed, as in
    docs/failures.md. ``stage_id`` or ``query_id`` is where it happened, None if unknown.
    """

    first_cause: str
    failure: str | None
    failure_kind: str | None
    retry: str | None
    stage_id: int | None
    query_id: int | None = None


# The first row is the earliest failure of a job, because later failures are often caused by it.
_CAUSES = """
SELECT assumeNotNull(coalesce(job_first_cause, failure_first_cause)) AS first_cause,
       coalesce(job_failure, failure_failure) AS failure,
       coalesce(job_failure_kind, failure_failure_kind) AS failure_kind,
       coalesce(job_retry, failure_retry) AS retry, coalesce(job_failed_stage_id, failure_stage_id) AS stage_id
FROM live
WHERE app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}
  AND row IN ('job', 'failure') AND coalesce(job_first_cause, failure_first_cause, '') != ''
ORDER BY row = 'job' DESC, row_epoch_ms, row_seq
LIMIT 1
"""


def failure_cause(client: Client, details: RunDetails) -> FailureCause | None:
    """Return the first cause of the failure of a run; None if nothing in the run failed.

    Raises StoreEmptyError.
    """
    run = details.run
    attempt = {"app_id": run.app_id, "app_start_ms": run.app_start_ms, "app_attempt": run.app_attempt}
    found = select(client, FailureCause, _CAUSES, attempt)
    return found[0] if found else next(_causes_of_texts(details), None)


def _causes_of_texts(details: RunDetails) -> Iterator[FailureCause]:
    failed = sorted(
        (stage for stage in details.stages if stage.status == "failed"), key=lambda stage: stage.completed_ms or 0
    )
    for stage in failed:
        yield from _cause(stage.failure_reason, stage.stage_id, stage.sql_execution_id)
    for query in details.queries:
        yield from _cause(query.failure_reason, None, query.query_id)


def _cause(text: str | None, stage_id: int | None, query_id: int | None) -> Iterator[FailureCause]:
    cause = first_cause(text)
    if cause is not None:
        failure = classify(None, text)
        yield FailureCause(cause, failure.reason, failure.kind, failure.retry, stage_id, query_id)
