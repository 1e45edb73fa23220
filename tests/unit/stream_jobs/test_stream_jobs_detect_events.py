"""Tests findings about events and about what outlives its stage or application."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from tests.unit.stream_jobs.detect_rows import Run
from tests.unit.stream_jobs.tracked_run import HOLDS, QUIET, T, Times, TrackedRun, W


def job_failed(run: Run, window: int, job_id: int = 1) -> LiveRow:
    row = {"job_id": job_id, "status": "failed", "failure_kind": "user_code"}
    return run.row("job_live", T + window * W, job=row)


def test_event_fires_at_once_and_resolves_by_time():
    """An event, such as a failed job, has only one row.

    The rule about an event fires immediately, whatever `for` is, and resolves after keep_firing_for.
    """
    tracked = TrackedRun(Times(for_ms=60_000, keep_firing_ms=30_000))
    tracked.row(job_failed(tracked.run, 1), HOLDS)
    tracked.idle_until(6)
    before = list(tracked.emitted)
    tracked.idle_until(7)

    assert before == [(1, "stuck", "firing")]
    assert tracked.emitted[1:] == [(7, "stuck", "resolved")]
    assert list(tracked.state.subjects.items()) == []


def test_event_outlives_the_end_of_the_application():
    """A finding about a failed job keeps firing if the application ended in the same window or one window earlier."""
    tracked = TrackedRun(Times(keep_firing_ms=30_000))
    tracked.task(1, HOLDS)
    tracked.row(job_failed(tracked.run, 1), HOLDS)
    tracked.row(tracked.run.ended(T + W), QUIET)
    at_end = list(tracked.emitted)
    tracked.row(job_failed(tracked.run, 2, 2), HOLDS)
    tracked.idle_until(99)

    assert at_end == [(1, "stuck", "firing"), (1, "stuck", "firing"), (1, "stuck", "resolved")]
    assert tracked.emitted[3:] == [(2, "stuck", "firing"), (8, "stuck", "resolved")]
    assert list(tracked.state.subjects.items()) == []


def test_failed_jobs_of_a_run_are_one_subject():
    """All failed jobs of a run are tracked as one subject, because their findings share an id.

    Otherwise the resolution of the first job's finding would resolve that of the second job.
    """
    tracked = TrackedRun(Times(keep_firing_ms=30_000))
    tracked.row(job_failed(tracked.run, 1, 1), HOLDS)
    tracked.row(job_failed(tracked.run, 5, 2), HOLDS)
    tracked.row(job_failed(tracked.run, 6, 3), QUIET)
    tracked.idle_until(99)

    assert tracked.emitted == [(1, "stuck", "firing"), (5, "stuck", "firing"), (11, "stuck", "resolved")]


def loss(run: Run, window: int, executor_id: str) -> LiveRow:
    return run.row("executor_loss", T + window * W, executor_loss={"executor_id": executor_id})


def test_each_lost_executor_is_its_own_subject():
    """Each lost executor is tracked as a separate subject, so its finding resolves at its own time."""
    tracked = TrackedRun(Times(keep_firing_ms=30_000))
    tracked.row(loss(tracked.run, 1, "1"), HOLDS)
    tracked.row(loss(tracked.run, 3, "2"), HOLDS)
    tracked.row(tracked.run.executor_removed(T + 3 * W, "1"), QUIET)
    tracked.idle_until(99)

    assert tracked.emitted[2:] == [(7, "stuck", "resolved"), (9, "stuck", "resolved")]


def test_causes_of_one_stage_do_not_end_each_other():
    """Findings about two failure classes of one stage do not resolve each other.

    For example, rows of one exception stop matching while rows of failed fetches still match.
    """
    tracked = TrackedRun(Times(keep_firing_ms=5_000))
    for window in range(1, 7):
        tracked.row(tracked.run.failure(T + window * W, failure_class="FetchFailed"), HOLDS)
        tracked.row(tracked.run.failure(T + window * W, failure_class="Other"), QUIET)
    still = list(tracked.emitted)
    tracked.idle_until(99)

    assert {state for _, _, state in still} == {"firing"}
    assert tracked.emitted[len(still) :] == [(9, "stuck", "resolved")]


def test_end_of_a_stage_resolves_its_failures():
    """The end of a stage resolves findings on its failed tasks.

    The stage either succeeded in spite of the failed tasks or failed itself.
    """
    tracked = TrackedRun(Times())
    tracked.row(tracked.run.failure(T + W), HOLDS)
    tracked.row(tracked.run.stage_ended(T + 2 * W), QUIET)

    assert tracked.emitted[-1] == (2, "stuck", "resolved")


def zombie(run: Run, window: int, outlived_ms: int = 60_000) -> LiveRow:
    row = run.task(T + window * W, 90_000)
    row.task.outlived_ms = outlived_ms
    return row


def test_zombie_task_is_not_ended_by_its_stage():
    """If a task runs on after the end of its stage, this end does not resolve the finding about the task.

    Only rules about the time after the end evaluate the later rows.
    """
    tracked = TrackedRun(Times(), post_end_rules=["skew"])
    tracked.task(1, HOLDS)
    tracked.row(tracked.run.stage_done(T + 2 * W, 900), QUIET)
    for window in (3, 4):
        tracked.row(tracked.run.stage_done(T + window * W, 900), QUIET)
        tracked.row(zombie(tracked.run, window), {"stuck": "warning", "skew": "warning"})
        tracked.row(tracked.run.stage_ended(T + window * W), QUIET)
    tracked.idle_until(7)

    assert tracked.emitted == [
        (1, "stuck", "firing"), (2, "stuck", "resolved"), (3, "skew", "firing"), (7, "skew", "resolved"),
    ]  # fmt: skip


@pytest.mark.parametrize("what", ["application", "task"])
def test_only_post_end_rules_count_after_the_end(what):
    """After the end of an application, only rules about what outlives it evaluate rows: its processes and its tasks."""
    tracked = TrackedRun(Times(), post_end_rules=["skew"])
    both = {"stuck": "warning", "skew": "critical"}
    tracked.row(tracked.run.application(T + W), HOLDS)
    tracked.row(tracked.run.ended(T + 2 * W), QUIET)
    for window in (3, 4):
        tracked.row(tracked.run.task(T + window * W, 90_000), both)
        if what == "task":
            tracked.row(zombie(tracked.run, window), both)
        else:
            tracked.row(tracked.run.application_done(T + window * W, 9, outlived_ms=300_000), both)
    tracked.idle_until(7)

    assert tracked.emitted == [
        (1, "stuck", "firing"), (2, "stuck", "resolved"), (3, "skew", "firing"), (7, "skew", "resolved"),
    ]  # fmt: skip


def test_finding_of_the_last_application_row_survives_its_end():
    """A finding of the last application row survives the end of the application in the same window.

    An example is the finding that an application ended with open jobs.
    """
    tracked = TrackedRun(Times(keep_firing_ms=30_000), post_end_rules=["skew"])
    tracked.row(tracked.run.application_done(T + W, 900), {"skew": "warning"})
    tracked.row(tracked.run.ended(T + W), QUIET)
    tracked.idle_until(99)

    assert tracked.emitted == [(1, "skew", "firing"), (7, "skew", "resolved")]
    assert tracked.state.subject_count.value() == 0


def test_pending_post_end_rule_continues_after_the_end():
    """If a rule about lost facts is pending when a short application ends, the rule stays pending.

    Later rows complete the rule's `for`.
    """
    tracked = TrackedRun(Times(for_ms=3 * W), post_end_rules=["skew"])
    for window in (1, 2):
        tracked.row(tracked.run.application(T + window * W), {"skew": "warning", "stuck": "warning"})
    tracked.row(tracked.run.ended(T + 2 * W), QUIET)
    for window in (3, 4):
        tracked.row(tracked.run.application_done(T + window * W, 9), {"skew": "warning", "stuck": "warning"})
    tracked.idle_until(99)

    assert tracked.emitted == [(4, "skew", "firing"), (7, "skew", "resolved")]
    assert tracked.state.subject_count.value() == 0


def test_hosts_of_two_clusters_are_two_subjects():
    """Hosts of the same name in two clusters are tracked as two subjects, even in the state of one key."""
    tracked = TrackedRun(Times())
    for cluster, severities in (("a", HOLDS), ("b", QUIET)):
        row = LiveRow(view="host_live", cluster=cluster, window_end_ms=T + W, host={"host": "h1"})
        tracked.row(row, severities)

    assert tracked.emitted == [(1, "stuck", "firing")]
