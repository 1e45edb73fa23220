"""The Airflow integration queries a real ClickHouse engine for the reason of an application's failure."""

from __future__ import annotations

import pytest

from sparkfuse.airflow.store import StoreUnreachableError, verdict_of_application

APP = "app-20261121020000-0042"
START_MS = 1_795_226_400_000
MISSING = (
    "org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table or view `orders` cannot be found."
)
REFUSED = "java.net.ConnectException: Connection refused"


class Clock:
    """A clock that advances only by the length of each pause."""

    def __init__(self) -> None:
        self.now_s, self.pauses = 0.0, 0

    def __call__(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        self.pauses += 1


def job_ended(client, job_id: int, reason: str | None, app_id: str = APP) -> None:
    """Store the end of a job; without a reason, the job succeeded."""
    columns = ["event_id", "app_id", "app_start_ms", "event_time_ms", "job_ended_job_id", "job_ended_succeeded",
               "job_ended_failure_reason"]  # fmt: skip
    row = [f"{app_id}-{job_id}", app_id, START_MS, START_MS + job_id, job_id, reason is None, reason]
    client.insert("facts", [row], column_names=columns)


def application_ended(client) -> None:
    columns = ["event_id", "app_id", "app_start_ms", "application_ended_ended_ms"]
    client.insert("facts", [["end", APP, START_MS, START_MS + 9]], column_names=columns)


def act(client, outcome: str = "", signal_id: str = "s1") -> None:
    """Store an act of the fuse, and the outcome of the act if one is given."""
    columns = ["sequence", "app_id", "step", "mode", "action", "signal_id", "outcome", "reason", "at_ms"]
    rows = [[1, APP, "sent", "act", "cancel_stage", signal_id, None, "stage 7 spilled 60 GiB", START_MS]]
    if outcome:
        rows.append([2, APP, "verified", "act", "cancel_stage", signal_id, outcome, "x", START_MS + 1])
    client.insert("audit", rows, column_names=columns)


def answer(client, outcome: str, signal_id: str = "s1") -> None:
    """Store a receipt of the hook."""
    columns = ["receipt_id", "app_id", "signal_id", "outcome", "at_ms"]
    client.insert("receipts", [[f"r-{outcome}", APP, signal_id, outcome, START_MS + 1]], column_names=columns)


def ask(settings, wait_seconds: float = 3.0, clock: Clock | None = None):
    clock = clock or Clock()
    found = verdict_of_application(settings.clickhouse_url, APP, wait_seconds, clock, clock.pause)
    return None if found is None else (found.retry, found.failure)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        pytest.param([MISSING], ("never", "sql_invalid"), id="the only job failed"),
        pytest.param([None, REFUSED], ("transient", "network"), id="the last job failed"),
        pytest.param([MISSING, None], None, id="the failure was handled by the job"),
        pytest.param(["something new"], None, id="unknown class"),
        pytest.param([], None, id="no job"),
    ],
)
def test_last_job_decides(client, settings, jobs, expected):
    """The job that ended last determines the verdict, not an earlier failure that the application survived."""
    for job_id, reason in enumerate(jobs):
        job_ended(client, job_id, reason)
    job_ended(client, 7, MISSING, "app-of-somebody-else")
    application_ended(client)

    assert ask(settings) == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("", ("never", "fuse")), ("ended", ("never", "fuse")), ("refused", ("transient", "network"))],
)
def test_act_of_the_fuse_decides_unless_the_hook_refused(client, settings, outcome, expected):
    """An act is the reason if it ended the work or is not verified yet, but not if the hook refused it."""
    act(client, outcome)
    job_ended(client, 1, REFUSED)
    application_ended(client)

    assert ask(settings) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(["received", "requested", "ended"], ("never", "fuse"), id="the hook stopped it"),
        pytest.param(["received", "warned"], ("transient", "network"), id="the owner allows only warnings"),
        pytest.param(["received", "held"], ("transient", "network"), id="a hold"),
        pytest.param(["received", "requested", "held"], ("transient", "network"), id="a hold after the request"),
    ],
)
def test_hook_that_only_warned_stopped_nothing(client, settings, answers, expected):
    """If the hook stopped nothing and the application failed by itself, that failure determines the verdict."""
    act(client, "ended")
    for outcome in answers:
        answer(client, outcome)
    job_ended(client, 1, REFUSED)
    application_ended(client)

    assert ask(settings) == expected


@pytest.mark.parametrize(("mode", "action"), [("act", "warn"), ("warn", "warn"), ("shadow", "cancel_stage")])
def test_warning_or_probe_is_no_stop(client, settings, mode, action):
    """A signal that only warns or probes is no reason to refuse a retry."""
    columns = ["sequence", "app_id", "step", "mode", "action", "signal_id", "reason", "at_ms"]
    client.insert("audit", [[1, APP, "sent", mode, action, "s1", "x", START_MS]], column_names=columns)
    job_ended(client, 1, REFUSED)
    application_ended(client)

    assert ask(settings) == ("transient", "network")


def test_limit_of_a_block_is_never_retried(client, settings):
    """A job that exceeded a limit of its own code is not retried, because it would exceed the limit again."""
    text = "Job 1 cancelled [SPARKFUSE_BLOCK_STOPPED] Sparkfuse stopped block orders. Tag: x. Limit: max_spill 1. (end)"
    job_ended(client, 1, text)
    application_ended(client)

    assert ask(settings) == ("never", "fuse")


def test_waits_for_the_loader(client, settings):
    """The query is repeated until the store has the end of the application, but not forever."""
    clock = Clock()

    assert ask(settings, 3.0, clock) is None
    assert clock.pauses == 3


def test_evidence_that_arrives_later_is_used(client, settings):
    """If the loader writes a failure while the integration waits, this failure determines the verdict."""

    class Loader(Clock):
        def pause(self, seconds: float) -> None:
            super().pause(seconds)
            job_ended(client, 1, MISSING)

    assert ask(settings, 3.0, Loader()) == ("never", "sql_invalid")


def test_store_that_is_away_is_an_error_of_its_own():
    """An unreachable store raises one sentence without the password."""
    with pytest.raises(StoreUnreachableError) as caught:
        verdict_of_application("http://user:secret@127.0.0.1:1/sparkfuse", APP)

    assert "the store at 127.0.0.1 does not answer" in str(caught.value)
    assert "secret" not in str(caught.value)
