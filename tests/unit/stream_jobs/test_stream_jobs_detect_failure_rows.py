"""What went wrong gets rows: failed tasks are told what they are of, failed jobs and lost executors are made."""

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
    """A run through Identify; what followed each row."""

    def __init__(self) -> None:
        self.run = Run("app-1", T)
        self.memory: RunState = in_memory_run_state()
        self.of(self.run.started(T))

    def of(self, row: LiveRow) -> list[LiveRow]:
        return [each for each in step(row, self.memory) if isinstance(each, LiveRow)]

    def news(self, row: LiveRow) -> list[HostReport]:
        return [each for each in step(row, self.memory) if isinstance(each, HostReport)]


def test_failed_tasks_are_told_their_stage_what_they_are_of_and_their_first_cause():
    """The windows know class and text; whose fault it is and whether a retry may do follow from these."""
    seen = Identified()
    seen.of(seen.run.stage_started(T))
    [row] = seen.of(seen.run.failure(T + W))
    [stage] = seen.of(seen.run.stage(T + W, 900))
    failure = row.failure

    assert (failure.failure_kind, failure.failure, failure.retry) == ("user_code", "user_exception", "never")
    assert failure.first_cause == "java.lang.ArithmeticException: / by zero"
    assert (failure.stage_name, failure.stage_fingerprint) == (stage.stage.stage_name, stage.stage.stage_fingerprint)
    assert (failure.failed_tasks, failure.host) == (3, "node-7")


def test_failed_tasks_without_a_text_are_unknown_and_nothing_is_made_up():
    """Absent stays absent."""
    seen = Identified()
    [row] = seen.of(seen.run.failure(T + W, failure_class=None, failure_reason=None))

    assert row.failure.failure_kind == row.failure.failure == row.failure.retry == "unknown"
    assert not row.failure.HasField("first_cause")
    assert row.failure.stage_name == "stage 3"


def test_a_failed_job_gets_a_row_behind_its_end():
    """With what its start said, whose fault it is, and the stage that took it with it."""
    seen = Identified()
    seen.of(seen.run.job_started(T + W, 1, [6, 7]))
    for stage_id, moment in ((7, T + 1_900), (6, T + 2_000)):
        seen.of(seen.run.stage_started(T + W, stage_id))
        ended = seen.run.stage_ended(T + W, stage_id, succeeded=False)
        ended.stage_ended.completed_ms, ended.stage_ended.failure_reason = moment, "x"
        seen.of(ended)
    ended, made = seen.of(seen.run.job_ended(T + 2 * W, 1, ABORTED))
    job = made.job

    assert ended.HasField("job_ended")
    assert (made.view, made.job_key, made.run_key, made.window_end_ms) == (
        "job_live", "nightly_orders", seen.run.run_key, T + 2 * W
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


def test_a_job_that_its_user_calls_nothing_is_called_as_its_last_stage():
    """As on Spark's own pages; a stage that was skipped is in no page."""
    seen = Identified()
    seen.of(seen.run.job_started(T + W, 1, [3, 9], description=None))
    seen.of(seen.run.stage_started(T + W))

    assert seen.of(seen.run.job_ended(T + W, 1, ABORTED))[1].job.description == "Sort → save"


def test_a_query_that_fails_though_no_job_of_it_does_gets_a_row():
    """A broadcast that takes too long is cancelled; only the query's end says why."""
    seen = Identified()
    seen.of(seen.run.query_started(T + W))
    seen.of(seen.run.job_started(T + W, 3, sql_execution_id=5))
    [*_, cancelled] = seen.of(seen.run.job_ended(T + W, 3, "Job 3 cancelled part of cancelled job group x"))
    made = seen.of(seen.run.query_ended(T + 2 * W, 5, TOO_LONG))[1]
    job = made.job

    assert cancelled.job.status == "cancelled"
    assert (made.view, job.job_id, job.status, job.description) == ("job_live", 3, "query_failed", "save orders")
    assert (job.elapsed_ms, job.failure, job.failure_kind, job.retry) == (
        W + 8_900, "broadcast_timeout", "configuration", "larger",
    )  # fmt: skip
    assert job.failure_reason == TOO_LONG


def test_a_query_waits_for_the_end_of_its_job_and_may_be_told_of_later_than_it():
    """So the rows of one window come, and a job's own failure says more."""
    for reason, told in (("Job 3 cancelled part of cancelled job tag x", ["cancelled", "query_failed"]),
                         (ABORTED, ["failed"]), (None, ["query_failed"])):  # fmt: skip
        seen = Identified()
        seen.of(seen.run.job_started(T + W, 3, sql_execution_id=5))
        seen.of(seen.run.query_started(T + W))
        waits = seen.of(seen.run.query_ended(T + 2 * W, 5, TOO_LONG))
        _, *made = seen.of(seen.run.job_ended(T + 2 * W, 3, reason))

        assert len(waits) == 1
        assert [each.job.status for each in made] == told
        assert made[-1].job.job_id == 3


def test_a_query_whose_job_never_ends_is_told_at_the_end_of_the_application():
    """Before that end, behind which nothing begins; one that is told, or was cancelled, is not told again."""
    seen = Identified()
    for execution, reason in ((5, TOO_LONG), (6, "Job 6 cancelled by the user"), (7, TOO_LONG)):
        seen.of(seen.run.query_started(T + W, execution))
        seen.of(seen.run.job_started(T + W, execution, sql_execution_id=execution))
        seen.of(seen.run.query_ended(T + 2 * W, execution, reason))
    told = seen.of(seen.run.job_ended(T + 2 * W, 7))
    *made, ended = seen.of(seen.run.ended(T + 3 * W))

    assert [each.job.job_id for each in told[1:]] == [7]
    assert [(each.view, each.job.job_id, each.job.status) for each in made] == [("job_live", 5, "query_failed")]
    assert ended.HasField("application_ended")


def test_a_query_is_not_told_beside_its_failed_job_nor_the_query_around_it():
    """One cause, one page."""
    seen = Identified()
    for execution in (5, 6):
        seen.of(seen.run.query_started(T + W, execution, root=5))
        seen.of(seen.run.job_started(T + W, execution, sql_execution_id=execution))
    seen.of(seen.run.job_ended(T + W, 5))
    seen.of(seen.run.job_ended(T + W, 6, ABORTED))

    assert len(seen.of(seen.run.query_ended(T + 2 * W, 6, ABORTED))) == 1
    assert len(seen.of(seen.run.query_ended(T + 2 * W, 5, ABORTED))) == 1


@pytest.mark.parametrize("reason", [None, "", "Job 3 cancelled by the user"])
def test_a_query_that_ended_well_or_was_cancelled_gets_none(reason):
    """Nobody reads a row about what somebody wanted."""
    seen = Identified()
    seen.of(seen.run.query_started(T + W))
    seen.of(seen.run.job_started(T + W, 3, sql_execution_id=5))

    assert len(seen.of(seen.run.query_ended(T + 2 * W, 5, reason))) == 1


def test_a_query_that_fails_before_any_job_gets_none():
    """Programs ask for tables that may not be there, and go on."""
    seen = Identified()
    seen.of(seen.run.query_started(T + W))

    assert len(seen.of(seen.run.query_ended(T + 2 * W, 5, "[TABLE_OR_VIEW_NOT_FOUND] orders"))) == 1
    assert len(seen.of(seen.run.query_ended(T + 2 * W, 9, TOO_LONG))) == 1


def test_a_job_that_ended_well_or_unheard_gets_none():
    """Nobody reads a row about what went well."""
    seen = Identified()
    seen.of(seen.run.job_started(T + W))
    well = seen.of(seen.run.job_ended(T + W))
    unheard = seen.run.job_ended(T + W)
    unheard.job_ended.ClearField("succeeded")

    assert len(well) == len(seen.of(unheard)) == 1


def test_a_job_that_says_nothing_is_told_by_its_first_failed_stage():
    """Some of Spark's job ends carry no text, or none that anybody knows."""
    for said in ("", "something odd"):
        seen = Identified()
        seen.of(seen.run.job_started(T + W, 1, [3]))
        seen.of(seen.run.stage_started(T + W))
        ended = seen.run.stage_ended(T + W, succeeded=False)
        ended.stage_ended.failure_reason = "java.io.IOException: No space left on device"
        seen.of(ended)
        job = seen.of(seen.run.job_ended(T + 2 * W, 1, said))[1].job

        assert (job.failure_kind, job.failure) == ("infrastructure", "disk_full")
        assert job.first_cause == "java.io.IOException: No space left on device"


def test_a_job_whose_start_was_lost_is_told_by_its_text():
    """Its stage stands in what Spark says; its duration and name are unknown."""
    job = (seen := Identified()).of(seen.run.job_ended(T + W, 9, ABORTED))[1].job

    assert (job.job_id, job.failed_stage_id, job.failure) == (9, 7, "user_exception")
    assert not job.HasField("elapsed_ms")
    assert not job.HasField("description")


@pytest.mark.parametrize(
    ("reason", "status", "kind"),
    [
        ("Job 0 cancelled because SparkContext was shut down", "cancelled", "benign"),
        ("Job 12 cancelled as part of cancellation of all jobs", "cancelled", "benign"),
        (ABORTED, "failed", "user_code"),
        ("Job aborted due to stage failure: Executor decommission.", "failed", "infrastructure"),
    ],
)
def test_a_job_that_somebody_ended_is_cancelled_and_one_that_died_of_something_harmless_failed(reason, status, kind):
    """An executor that was asked to leave harms no task, but a job that died of it did fail."""
    job = (seen := Identified()).of(seen.run.job_ended(T + W, 1, reason))[1].job

    assert (job.status, job.failure_kind) == (status, kind)


def test_a_lost_executor_gets_a_row_with_how_many_went_lately():
    """Where it was, how long, why, and how many of how many went that way within ten minutes."""
    seen = Identified()
    for number in range(4):
        seen.of(seen.run.executor_added(T + W, str(number), f"node-{number}"))
    seen.of(seen.run.executor_removed(T + 2 * W, "0", "Container from a bad node: c1. Exit status: 137."))
    removed, made = seen.of(seen.run.executor_removed(T + 3 * W, "1", "worker lost", exit_code=1))
    loss = made.executor_loss

    assert removed.HasField("executor_removed")
    assert (made.view, made.window_end_ms, loss.executor_id, loss.host) == ("executor_loss", T + 3 * W, "1", "node-1")
    assert (loss.removed_ms, loss.lived_ms, loss.exit_code) == (T + 3 * W - 500, 2 * W + 500, 1)
    assert (loss.failure_kind, loss.failure, loss.reason) == ("infrastructure", "node_lost", "worker lost")
    assert (loss.lost_executors, loss.peak_executors, loss.lost_alike) == (2, 4, 2)


def test_an_executor_that_nobody_saw_join_is_lost_all_the_same():
    """What is not known is absent; a number that no process can end with is none."""
    loss = (
        (seen := Identified()).of(seen.run.executor_removed(T + W, "7", f"exited with code {10**30}"))[1].executor_loss
    )

    assert (loss.executor_id, loss.lost_executors, loss.peak_executors) == ("7", 1, 1)
    assert not loss.HasField("host")
    assert not loss.HasField("lived_ms")
    assert not loss.HasField("exit_code")


def test_executors_that_go_because_the_application_ends_are_no_loss():
    """In the window of the end, and behind it; one that was lost before is."""
    seen = Identified()
    for number in range(4):
        seen.of(seen.run.executor_added(T + W, str(number)))
    over = seen.run.application_done(T + 3 * W, 2 * W + 4_000)
    seen.of(over)
    lost = seen.of(seen.run.executor_removed(T + 3 * W, "0", removed_ms=T + 2 * W))
    with_it = seen.of(seen.run.executor_removed(T + 3 * W, "1", removed_ms=T + 2 * W + 4_100))
    seen.of(seen.run.ended(T + 3 * W))
    behind = seen.of(seen.run.executor_removed(T + 4 * W, "2", removed_ms=T + 2 * W + 4_000))

    assert [len(each) for each in (lost, with_it, behind)] == [2, 1, 1]


def test_the_driver_is_no_executor():
    """Local mode has only it, and it goes with the application."""
    seen = Identified()
    seen.of(seen.run.executor_added(T + W, "driver", "localhost"))

    assert seen.memory.losses.value() is None
    assert len(seen.of(seen.run.executor_removed(T + W, "driver"))) == 1


def test_what_is_remembered_of_jobs_and_executors_is_bounded_and_let_go(monkeypatch):
    """Ten thousand jobs at once are a loop; each end frees its own, the application's end all."""
    monkeypatch.setattr(failure_rows, "MAX_JOBS", 3)
    monkeypatch.setattr(loss_rows, "MAX_EXECUTORS", 3)
    seen, memory = Identified(), None
    for number in range(9):
        seen.of(seen.run.job_started(T + W, number))
        seen.of(seen.run.executor_added(T + W, str(number)))
    memory = seen.memory
    full = [len(list(shelf.items())) for shelf in (memory.jobs, memory.executors)]
    seen.of(seen.run.job_ended(T + W, 0))
    seen.of(seen.run.executor_removed(T + W, "0"))
    seen.of(seen.run.job_started(T + W, 8))
    seen.of(seen.run.executor_added(T + W, "8"))
    again = [name for shelf in (memory.jobs, memory.executors) for name, _ in shelf.items()]
    seen.of(seen.run.ended(T + 2 * W))

    assert full == [3, 3]
    assert again == ["1", "2", "8"] * 2
    assert not [*memory.jobs.items(), *memory.executors.items()]
    assert memory.losses.value() is None


def test_an_application_tells_of_its_hosts_every_two_minutes_and_of_troubles_at_once():
    """Enough for ten minutes that slide, and little enough for a fleet."""
    seen = Identified()
    seen.of(seen.run.executor_added(T + W, "1", "node-1"))
    seen.of(seen.run.executor_added(T + W, "2", "node-2"))
    told = [seen.news(seen.run.application(T + window * W)) for window in range(1, 51)]
    idle = seen.news(seen.run.application(T + 99 * W, running_tasks=0))
    [failing] = seen.news(seen.run.failure(T + 51 * W, failure_class="FetchFailed", failure_reason="FetchFailed(…)"))
    [lost] = seen.news(seen.run.executor_removed(T + 51 * W, "2", "worker lost"))

    assert [window for window, news in enumerate(told, 1) if news] == [1, 25, 49]
    assert told[0][0].ran == ("node-1", "node-2")
    assert idle == []
    assert [(each.host, each.failure) for each in failing.troubles] == [("node-7", "fetch_failed")]
    assert [(each.host, each.failure) for each in lost.troubles] == [("node-2", "node_lost")]
    assert (lost.cluster, lost.app_id, lost.app_key) == ("prod-eu", "app-1", f"app-1@{T}")
