"""Reads from Sparkfuse's store why an application failed, with the standard library and ClickHouse's HTTP interface."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import Request, urlopen

from sparkfuse.airflow.verdict import Verdict, fuse_verdict, verdict_of_text

# The loader writes facts to the store a few seconds after they happened.
WAIT_SECONDS = 20.0
POLL_SECONDS = 1.0
_ANSWER_SECONDS = 10

# A hook that only warned or refused stopped nothing, whatever happened to the application afterwards.
_STOPPED = """
SELECT ifNull(reason, '') AS text FROM audit
WHERE app_id = {app_id:String} AND step = 'sent' AND mode = 'act' AND action != 'warn' AND signal_id NOT IN (
    SELECT ifNull(signal_id, '') FROM audit WHERE app_id = {app_id:String} AND step = 'verified' AND outcome != 'ended'
    UNION ALL
    SELECT ifNull(signal_id, '') FROM receipts WHERE app_id = {app_id:String}
    AND outcome IN ('warned', 'held', 'refused', 'expired', 'disagrees', 'blind')
)
ORDER BY at_ms DESC LIMIT 1 FORMAT JSONEachRow
"""
# Only the Spark job that ended last counts, because an earlier failed job did not end the application.
_LAST_JOB = """
SELECT ifNull(job_ended_succeeded, false) AS succeeded, ifNull(job_ended_failure_reason, '') AS text FROM facts
WHERE app_id = {app_id:String} AND job_ended_job_id IS NOT NULL
ORDER BY event_time_ms DESC, job_ended_job_id DESC LIMIT 1 FORMAT JSONEachRow
"""
_ENDED = """
SELECT 1 AS ended FROM facts WHERE app_id = {app_id:String} AND application_ended_ended_ms IS NOT NULL
LIMIT 1 FORMAT JSONEachRow
"""


class StoreUnreachableError(RuntimeError):
    """The store does not answer or refuses the query. The message is one sentence and contains no password."""


def verdict_of_application(
    url: str,
    app_id: str,
    wait_seconds: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Verdict | None:
    """Return the verdict on a failed application; None if the store does not know why it failed.

    Waits up to ``wait_seconds`` until the store has the end of the application or the reason of its failure.

    Args:
        url: address of ClickHouse, such as ``http://user:password@host:8123/sparkfuse``.
        app_id: Spark's application id.
        wait_seconds: the longest wait for the loader, in seconds.
        clock: monotonic time in seconds.
        pause: waits for the given seconds.

    Raises:
        StoreUnreachableError: the store does not answer.
    """
    limit = clock() + wait_seconds
    while True:
        ended = bool(_query(url, _ENDED, app_id))
        verdict = _verdict(url, app_id)
        if verdict is not None or ended or clock() >= limit:
            return verdict
        pause(POLL_SECONDS)


def _verdict(url: str, app_id: str) -> Verdict | None:
    for row in _query(url, _STOPPED, app_id):
        return fuse_verdict(row["text"])
    for row in _query(url, _LAST_JOB, app_id):
        return verdict_of_text(row["text"]) if not row["succeeded"] and row["text"].strip() else None
    return None


def _query(url: str, sql: str, app_id: str) -> list[dict[str, Any]]:
    parts = urlsplit(url)
    parameters = {"param_app_id": app_id}
    if database := parts.path.strip("/"):
        parameters["database"] = database
    address = f"{parts.scheme}://{parts.hostname}:{parts.port or 8123}/?{urlencode(parameters)}"
    request = Request(address, data=sql.encode(), method="POST")  # noqa: S310  the administrator sets the address
    if parts.username:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with urlopen(request, timeout=_ANSWER_SECONDS) as reply:  # noqa: S310  see above
            return [json.loads(line) for line in reply.read().splitlines() if line]
    except (OSError, ValueError) as error:
        raise StoreUnreachableError(f"the store at {parts.hostname} does not answer: {error}") from error
