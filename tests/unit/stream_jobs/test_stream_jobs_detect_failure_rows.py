"""Tests that failed tasks are classified, and that failed jobs, failed queries and lost executors get rows."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import failure_rows, loss_rows
from sparkfuse_stream_jobs.detect.host_observations import HostReport
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import RunState, in_memory_run_state
from tests.unit.stream_jobs.detect_rows import WINDOW_MS as W
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
ABORTED = (
    "Job aborted due to stage failure: Task 44 in stage 7.0 failed 4 times, most recent failure: Lost task 44.3 in "
    "stage 7.0 (TID 1207) (node-7 executor 3): java.lang.ArithmeticException: / by zero\n\tat com.shop.f(Job.java:7)"
)


class Identified:
    """A run of a job; its rows pass through the identify step, and the outputs for each row are stored."""

    def __init__(self) -> None:
        self.run = Run("app-1", T)
        self.state: RunState = in_memory_run_state()
        self.rows(self.run.started(T))

    def rows(self, row: LiveRow) -> list[LiveRow]:
        return [each for each in step(row, self.state) if isinstance(each, LiveRow)]

    def reports(self, row: LiveRow) -> list[HostReport]:
        return [each for each in step(row, self.state) if isinstance(each, HostReport)]


def test_failed_tasks_have_stage_kind_and_first_cause():
    """A row of failed tasks gets its stage, the failure class, the first cause, and advice on retries.

    The windows job provides only the exception class and its text.
    """
    identified = Identified()
    identified.rows(identified.run.stage_started(T))
    [row] = identified.rows(identified.run.failure(T + W))
    [stage] = identified.rows(identified.run.stage(T + W, 900))
    failure = row.failure

    assert (failure.failure_kind, failure.failure, failure.retry) == ("user_code", "user_exception", "never")
    assert failure.first_cause == "java.lang.ArithmeticException: / by zero"
    assert (failure.stage_name, failure.stage_fingerprint) == (stage.stage.stage_name, stage.stage.stage_fingerprint)
    assert (failure.failed_tasks, failure.host) == (3, "node-7")


def test_failed_tasks_without_a_text_are_unknown():
    """Failed tasks without a text have the failure class unknown, and an absent column stays absent."""
    identified = Identified()
    [row] = identified.rows(identified.run.failure(T + W, failure_class=None, failure_reason=None))

    assert row.failure.failure_kind == row.failure.failure == row.failure.retry == "unknown"
    assert not row.failure.HasField("first_cause")
    assert row.failure.stage_name == "stage 3"


def test_failed_job_has_a_row_after_its_end():
    """When a failed job ends, it gets a row with its description, failure class and the stage that failed first."""
    identified = Identified()
    identified.rows(identified.run.job_started(T + W, 1, [6, 7]))
    for stage_id, moment in ((7, T + 1_900), (6, T + 2_000)):
        identified.rows(identified.run.stage_started(T + W, stage_id))
        ended = identified.run.stage_ended(T + W, stage_id, succeeded=False)
        ended.stage_ended.completed_ms, ended.stage_ended.failure_reason = moment, "x"
        identified.rows(ended)
    ended, emitted = identified.rows(identified.run.job_ended(T + 2 * W, 1, ABORTED))
    job = emitted.job

    assert ended.HasField("job_ended")
    assert (emitted.view, emitted.job_key, emitted.run_key, emitted.window_end_ms) == (
        "job_live", "nightly_orders", identified.run.run_key, T + 2 * W
    )  # fmt: skip
    assert (job.job_id, job.description, job.status, job.elapsed_ms) == (1, "write orders", "failed", 2 * W - W + 3_900)
    assert (job.failure_kind, job.failure, job.retry, job.failed_stage_id) == (
        "user_code",
        "user_exception",
        "never",
        7,
    )
    assert job.first_cause == "java.lang.ArithmeticException: / by zero"
    assert job.failure_reason == ABORTED


TOO_LONG = "org.apache.spark.SparkException: Could not execute broadcast in 300 secs. You can increase the timeout"


def test_job_without_description_has_name_of_last_stage():
    """A failed job without a description gets the name of its last started stage.

    A skipped stage never starts, so it has no name.
    """
    identified = Identified()
    identified.rows(identified.run.job_started(T + W, 1, [3, 9], description=None))
    identified.rows(identified.run.stage_started(T + W))

    assert identified.rows(identified.run.job_ended(T + W, 1, ABORTED))[1].job.description == "Sort → save"


def test_failed_query_without_failed_job_has_a_row():
    """A failed query without a failed job gets a row with the reason for which the query failed.

    For example, Spark cancels a broadcast that takes too long.
    """
    identified = Identified()
    identified.rows(identified.run.query_started(T + W))
    identified.rows(identified.run.job_started(T + W, 3, sql_execution_id=5))
    [*_, cancelled] = identified.rows(
        identified.run.job_ended(T + W, 3, "Job 3 cancelled part of cancelled job group x")
    )
    emitted = identified.rows(identified.run.query_ended(T + 2 * W, 5, TOO_LONG))[1]
    job = emitted.job

    assert cancelled.job.status == "cancelled"
    assert (emitted.view, job.job_id, job.status, job.description) == ("job_live", 3, "query_failed", "save orders")
    assert (job.elapsed_ms, job.failure, job.failure_kind, job.retry) == (
        W + 8_900, "broadcast_timeout", "configuration", "larger",
    )  # fmt: skip
    assert job.failure_reason == TOO_LONG


def test_failed_query_waits_for_the_end_of_its_job():
    """A failed query is not reported before the end of its job.

    Within a window the end of the query arrives before that of the job, but the failure of the job explains more.
    """
    for reason, statuses in (("Job 3 cancelled part of cancelled job tag x", ["cancelled", "query_failed"]),
                         (ABORTED, ["failed"]), (None, ["query_failed"])):  # fmt: skip
        identified = Identified()
        identified.rows(identified.run.job_started(T + W, 3, sql_execution_id=5))
        identified.rows(identified.run.query_started(T + W))
        pending = identified.rows(identified.run.query_ended(T + 2 * W, 5, TOO_LONG))
        _, *emitted = identified.rows(identified.run.job_ended(T + 2 * W, 3, reason))

        assert len(pending) == 1
        assert [each.job.status for each in emitted] == statuses
        assert emitted[-1].job.job_id == 3


def test_failed_query_of_an_open_job_is_reported_at_the_end():
    """If the job of a failed query has no end event, the query is reported just before the end of the application.

    A query that was already reported or was cancelled is not reported.
    """
    identified = Identified()
    for execution, reason in ((5, TOO_LONG), (6, "Job 6 cancelled by the user"), (7, TOO_LONG)):
        identified.rows(identified.run.query_started(T + W, execution))
        identified.rows(identified.run.job_started(T + W, execution, sql_execution_id=execution))
        identified.rows(identified.run.query_ended(T + 2 * W, execution, reason))
    reported = identified.rows(identified.run.job_ended(T + 2 * W, 7))
    *emitted, ended = identified.rows(identified.run.ended(T + 3 * W))

    assert [each.job.job_id for each in reported[1:]] == [7]
    assert [(each.view, each.job.job_id, each.job.status) for each in emitted] == [("job_live", 5, "query_failed")]
    assert ended.HasField("application_ended")


def test_failed_query_is_not_reported_if_its_job_is():
    """If the failed job of a query is reported, neither the query nor its root query is reported.

    So one cause gives one notification.
    """
    identified = Identified()
    for execution in (5, 6):
        identified.rows(identified.run.query_started(T + W, execution, root=5))
        identified.rows(identified.run.job_started(T + W, execution, sql_execution_id=execution))
    identified.rows(identified.run.job_ended(T + W, 5))
    identified.rows(identified.run.job_ended(T + W, 6, ABORTED))

    assert len(identified.rows(identified.run.query_ended(T + 2 * W, 6, ABORTED))) == 1
    assert len(identified.rows(identified.run.query_ended(T + 2 * W, 5, ABORTED))) == 1


@pytest.mark.parametrize("reason", [None, "", "Job 3 cancelled by the user"])
def test_successful_or_cancelled_query_has_no_row(reason):
    """A successful query has no row; a cancelled one has none either, because cancellations are intended."""
    identified = Identified()
    identified.rows(identified.run.query_started(T + W))
    identified.rows(identified.run.job_started(T + W, 3, sql_execution_id=5))

    assert len(identified.rows(identified.run.query_ended(T + 2 * W, 5, reason))) == 1


def test_query_that_fails_before_any_job_has_no_row():
    """A query that fails before its first job has no row.

    Programs query tables that may not exist, and continue.
    """
    identified = Identified()
    identified.rows(identified.run.query_started(T + W))

    assert len(identified.rows(identified.run.query_ended(T + 2 * W, 5, "[TABLE_OR_VIEW_NOT_FOUND] orders"))) == 1
    assert len(identified.rows(identified.run.query_ended(T + 2 * W, 9, TOO_LONG))) == 1


def test_successful_or_unknown_job_has_no_row():
    """A job that succeeded, or whose result is unknown, has no row."""
    identified = Identified()
    identified.rows(identified.run.job_started(T + W))
    successful = identified.rows(identified.run.job_ended(T + W))
    unknown = identified.run.job_ended(T + W)
    unknown.job_ended.ClearField("succeeded")

    assert len(successful) == len(identified.rows(unknown)) == 1


def test_job_without_reason_has_the_reason_of_its_stage():
    """If the failure text of a job is empty or not recognised, the job's row has the failure reason of its stage."""
    for text in ("", "something odd"):
        identified = Identified()
        identified.rows(identified.run.job_started(T + W, 1, [3]))
        identified.rows(identified.run.stage_started(T + W))
        ended = identified.run.stage_ended(T + W, succeeded=False)
        ended.stage_ended.failure_reason = "java.io.IOException: No space left on device"
        identified.rows(ended)
        job = identified.rows(identified.run.job_ended(T + 2 * W, 1, text))[1].job

        assert (job.failure_kind, job.failure) == ("infrastructure", "disk_full")
        assert job.first_cause == "java.io.IOException: No space left on device"


def test_job_without_start_is_described_by_its_text():
    """If the start of a failed job was lost, Spark's text names the stage.

    The duration and the description of the job are unknown.
    """
    job = (identified := Identified()).rows(identified.run.job_ended(T + W, 9, ABORTED))[1].job

    assert (job.job_id, job.failed_stage_id, job.failure) == (9, 7, "user_exception")
    assert not job.HasField("elapsed_ms")
    assert not job.HasField("description")


@pytest.mark.parametrize(
    ("reason", "status", "kind"),
    [
        ("Job 0 cancelled because SparkContext was shut down", "failed", "unknown"),
        ("Job 12 cancelled as part of cancellation of all jobs", "cancelled", "benign"),
        (ABORTED, "failed", "user_code"),
        ("Job aborted due to stage failure: Executor decommission.", "failed", "infrastructure"),
    ],
)
def test_cancelled_jobs_and_failed_jobs_are_distinguished(reason, status, kind):
    """A cancelled job is not reported as failed.

    A task that a decommissioned executor ended is harmless, but a job that ended for this reason has failed.
    """
    job = (identified := Identified()).rows(identified.run.job_ended(T + W, 1, reason))[1].job

    assert (job.status, job.failure_kind) == (status, kind)


@pytest.mark.parametrize(
    ("executor_id", "error", "failure", "retry"),
    [
        ("driver", "java.lang.OutOfMemoryError: Java heap space", "heap_memory", "larger"),
        ("1", "java.lang.OutOfMemoryError: Java heap space", "context_stopped", "unknown"),
        ("driver", "java.io.IOException: odd", "context_stopped", "unknown"),
    ],
)
def test_error_that_ended_the_driver_is_the_failure_of_its_job(executor_id, error, failure, retry):
    """If a task ran in the driver and its error ended the JVM, the job that stopped with it reports the error."""
    identified = Identified()
    of_class = error.partition(":")[0]
    failing = {"executor_id": executor_id, "failure_class": of_class, "failure_reason": error}
    identified.rows(identified.run.failure(T + W, **failing))
    stopped = "Job 1 cancelled because SparkContext was shut down"
    job = identified.rows(identified.run.job_ended(T + W, 1, stopped))[1].job

    assert (job.status, job.failure, job.retry) == ("failed", failure, retry)


def test_lost_executor_has_a_row_with_recent_losses():
    """A lost executor has a row with its host, lifetime and reason, and the number of recent losses."""
    identified = Identified()
    for number in range(4):
        identified.rows(identified.run.executor_added(T + W, str(number), f"node-{number}"))
    identified.rows(identified.run.executor_removed(T + 2 * W, "0", "Container from a bad node: c1. Exit status: 137."))
    removed, emitted = identified.rows(identified.run.executor_removed(T + 3 * W, "1", "worker lost", exit_code=1))
    loss = emitted.executor_loss

    assert removed.HasField("executor_removed")
    assert (emitted.view, emitted.window_end_ms, loss.executor_id, loss.host) == (
        "executor_loss",
        T + 3 * W,
        "1",
        "node-1",
    )
    assert (loss.removed_ms, loss.lived_ms, loss.exit_code) == (T + 3 * W - 500, 2 * W + 500, 1)
    assert (loss.failure_kind, loss.failure, loss.reason) == ("infrastructure", "node_lost", "worker lost")
    assert (loss.lost_executors, loss.peak_executors, loss.lost_alike) == (2, 4, 2)


def test_lost_executor_without_start_has_a_row():
    """A lost executor without a start event has a row.

    The unknown columns of the row are absent, and so is an impossible exit code.
    """
    loss = (
        (identified := Identified())
        .rows(identified.run.executor_removed(T + W, "7", f"exited with code {10**30}"))[1]
        .executor_loss
    )

    assert (loss.executor_id, loss.lost_executors, loss.peak_executors) == ("7", 1, 1)
    assert not loss.HasField("host")
    assert not loss.HasField("lived_ms")
    assert not loss.HasField("exit_code")


def test_executors_removed_with_the_application_are_not_lost():
    """Executors that are removed in or after the window in which the application ends are not lost.

    An executor that is removed earlier counts as lost.
    """
    identified = Identified()
    for number in range(4):
        identified.rows(identified.run.executor_added(T + W, str(number)))
    over = identified.run.application_done(T + 3 * W, 2 * W + 4_000)
    identified.rows(over)
    lost = identified.rows(identified.run.executor_removed(T + 3 * W, "0", removed_ms=T + 2 * W))
    with_it = identified.rows(identified.run.executor_removed(T + 3 * W, "1", removed_ms=T + 2 * W + 4_100))
    identified.rows(identified.run.ended(T + 3 * W))
    after = identified.rows(identified.run.executor_removed(T + 4 * W, "2", removed_ms=T + 2 * W + 4_000))

    assert [len(each) for each in (lost, with_it, after)] == [2, 1, 1]


def test_driver_is_not_reported_as_lost_executor():
    """In local mode the driver runs the tasks; its removal at the application's end is not reported as a loss."""
    identified = Identified()
    identified.rows(identified.run.executor_added(T + W, "driver", "localhost"))

    assert identified.state.losses.value() is None
    assert len(identified.rows(identified.run.executor_removed(T + W, "driver"))) == 1


def test_stored_jobs_and_executors_are_bounded(monkeypatch):
    """The number of stored jobs and executors is limited.

    Each end event removes the entry of its job or executor, and the end of the application removes all entries.
    """
    monkeypatch.setattr(failure_rows, "MAX_JOBS", 3)
    monkeypatch.setattr(loss_rows, "MAX_EXECUTORS", 3)
    identified = Identified()
    for number in range(9):
        identified.rows(identified.run.job_started(T + W, number))
        identified.rows(identified.run.executor_added(T + W, str(number)))
    state = identified.state
    full = [len(list(values.items())) for values in (state.jobs, state.executors)]
    identified.rows(identified.run.job_ended(T + W, 0))
    identified.rows(identified.run.executor_removed(T + W, "0"))
    identified.rows(identified.run.job_started(T + W, 8))
    identified.rows(identified.run.executor_added(T + W, "8"))
    again = [name for values in (state.jobs, state.executors) for name, _ in values.items()]
    identified.rows(identified.run.ended(T + 2 * W))

    assert full == [3, 3]
    assert again == ["1", "2", "8"] * 2
    assert not [*state.jobs.items(), *state.executors.items()]
    assert state.losses.value() is None


def test_hosts_without_problems_are_reported_every_2_minutes():
    """The hosts of an application are reported every two minutes, but hosts with problems immediately."""
    identified = Identified()
    identified.rows(identified.run.executor_added(T + W, "1", "node-1"))
    identified.rows(identified.run.executor_added(T + W, "2", "node-2"))
    reported = [identified.reports(identified.run.application(T + window * W)) for window in range(1, 51)]
    idle = identified.reports(identified.run.application(T + 99 * W, running_tasks=0))
    [failing] = identified.reports(
        identified.run.failure(T + 51 * W, failure_class="FetchFailed", failure_reason="FetchFailed(…)")
    )
    [lost] = identified.reports(identified.run.executor_removed(T + 51 * W, "2", "worker lost"))

    assert [window for window, reports in enumerate(reported, 1) if reports] == [1, 25, 49]
    assert reported[0][0].ran == ("node-1", "node-2")
    assert idle == []
    assert [(each.host, each.failure) for each in failing.problems] == [("node-7", "fetch_failed")]
    assert [(each.host, each.failure) for each in lost.problems] == [("node-2", "node_lost")]
    assert (lost.cluster, lost.app_id, lost.app_key) == ("prod-eu", "app-1", f"app-1@{T}")
