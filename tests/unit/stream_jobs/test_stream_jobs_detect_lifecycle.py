"""Tests the lifecycle of findings: pending, firing, keep-firing and resolved, as in Prometheus."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import lifecycle
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from tests.unit.stream_jobs.detect_rows import Run
from tests.unit.stream_jobs.tracked_run import HOLDS, QUIET, T, Times, TrackedRun, W, write


def test_rule_without_for_fires_at_once():
    """With `for: 0s`, a rule fires at the first row that matches."""
    tracked = TrackedRun(Times())
    tracked.task(1, HOLDS)

    assert tracked.emitted == [(1, "stuck", "firing")]


def test_rule_is_pending_until_for_has_passed():
    """With `for: 10s`, a rule fires at the third matching window of five seconds.

    A window that does not match restarts `for`.
    """
    tracked = TrackedRun(Times(for_ms=10_000))
    for window, severities in [(1, HOLDS), (2, HOLDS), (3, QUIET), (4, HOLDS), (5, HOLDS), (6, HOLDS)]:
        tracked.task(window, severities)

    assert tracked.emitted == [(6, "stuck", "firing")]


def test_moving_task_is_gone_three_windows_after_its_next_row_was_due():
    """A rule that matches a task that makes progress keeps firing between the rows of the task, which are rare."""
    tracked = TrackedRun(Times())
    for window in (1, 7):
        row = tracked.run.task(T + window * W, 0)
        row.task.activity = "moving"
        tracked.row(row, HOLDS)
    tracked.idle_until(40)

    assert tracked.emitted[0] == (1, "stuck", "firing")
    assert [each for each in tracked.emitted if each[2] == "resolved"] == [(7 + 6 + 3, "stuck", "resolved")]


def test_rule_resolves_at_the_first_false_row():
    """Without keep_firing_for, a finding resolves at the first row that does not match."""
    tracked = TrackedRun(Times())
    tracked.task(1, HOLDS)
    tracked.task(2, QUIET)

    assert tracked.emitted == [(1, "stuck", "firing"), (2, "stuck", "resolved")]


def test_keep_firing_for_bridges_gaps():
    """With ``keep_firing_for``, an alternating condition is one finding.

    The time of ``keep_firing_for`` starts at the last row that matched.
    """
    tracked = TrackedRun(Times(keep_firing_ms=10_000))
    for window, severities in [(1, HOLDS), (2, QUIET), (3, HOLDS), (4, QUIET), (5, QUIET)]:
        tracked.task(window, severities)

    assert tracked.emitted == [(1, "stuck", "firing"), (5, "stuck", "resolved")]


def test_newest_evidence_is_emitted_twice_a_minute():
    """A firing finding is emitted with its newest evidence twice a minute.

    A finding is published every minute, so emitting it more often would be useless.
    """
    tracked = TrackedRun(Times())
    emitted = []
    for window in range(1, 10):
        row = tracked.run.task(T + window * W, 60_000)
        emitted += list(tracked.lifecycle.step(row, HOLDS if window < 9 else QUIET, tracked.state))
    findings = [each for each in emitted if isinstance(each, Finding)]

    assert [((each.evidence_ms - T) // W, each.state) for each in findings] == [
        (1, "firing"), (7, "firing"), (8, "resolved"),
    ]  # fmt: skip


def test_value_that_cannot_be_formatted_still_resolves():
    """A finding with a value that cannot be formatted still resolves.

    A timer resolves the finding, and an error in the timer would fail the job repeatedly.
    """
    absurd = T + 2 * W

    def failing_writer(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        if row.window_end_ms == absurd:
            raise OverflowError("the duration is too long")
        return write(rule_id, row, severity, started_ms)

    tracked = TrackedRun(Times())
    tracked.lifecycle = Lifecycle(RuleEvaluation({"stuck": Times()}, W, failing_writer))
    tracked.task(1, HOLDS)
    tracked.task(2, HOLDS)
    tracked.idle_until(9)

    assert [(rule, state) for _, rule, state in tracked.emitted] == [("stuck", "firing"), ("stuck", "resolved")]


@pytest.mark.parametrize("keep_ms, window", [(0, 4), (10_000, 4), (30_000, 7)])
def test_subject_without_rows_is_gone_after_three_windows(keep_ms: int, window: int):
    """A subject without rows for three windows, such as an ended task, is removed.

    While the windows job is down, no time passes.
    """
    tracked = TrackedRun(Times(keep_firing_ms=keep_ms))
    tracked.task(1, HOLDS)
    tracked.idle_until(window - 1)
    before = list(tracked.emitted)
    tracked.idle_until(window)

    assert before == [(1, "stuck", "firing")]
    assert tracked.emitted[1:] == [(window, "stuck", "resolved")]


def test_run_has_one_timer_for_all_subjects():
    """A run has only one timer at a time: when the timer fires, it requests the next one.

    Each subject (such as one task) still resolves in its own window.
    """
    tracked = TrackedRun(Times())
    for window in range(1, 13):
        for task_id in range(5):
            if window <= 8 + task_id % 2:
                tracked.task(window, HOLDS, task_id)
        tracked.idle_until(window)

    assert tracked.timers_set <= 6, "one in three windows, not one for each row"
    resolved = [(window, state) for window, _, state in tracked.emitted if state == "resolved"]
    assert resolved == [(11, "resolved")] * 3 + [(12, "resolved")] * 2
    assert not tracked.timers


def test_pending_rule_of_a_gone_subject_is_dropped():
    """A rule that never fired emits no resolution."""
    tracked = TrackedRun(Times(for_ms=60_000))
    tracked.task(1, HOLDS)
    tracked.idle_until(9)

    assert tracked.emitted == []
    assert list(tracked.state.subjects.items()) == []


def test_end_of_a_stage_resolves_only_its_own_subjects():
    """The end of stage 3 resolves the findings about stage 3, but not those about stage 31."""
    tracked = TrackedRun(Times())
    run = tracked.run
    for row in (run.stage(T + W, 900, 3), run.stage(T + W, 900, 31), run.task(T + W, 900, 1, 3)):
        tracked.row(row, HOLDS)
    tracked.emitted.clear()
    tracked.row(run.stage_ended(T + 2 * W, 3), QUIET)
    tracked.row(run.stage_ended(T + 2 * W, 31), QUIET)
    first, second = tracked.emitted[:2], tracked.emitted[2:]

    assert first == [(2, "stuck", "resolved")] * 2
    assert second == [(2, "stuck", "resolved")]


def test_rows_after_the_end_of_a_stage_do_not_fire_again():
    """Rows that arrive after the end of their stage, such as task rows, do not make a rule fire again."""
    tracked = TrackedRun(Times())
    for window in (1, 2, 3):
        tracked.row(tracked.run.stage_done(T + window * W, 900), HOLDS)

    assert tracked.emitted == [(1, "stuck", "firing"), (1, "stuck", "resolved")]


def test_keep_firing_for_outlives_the_end_of_a_stage():
    """A finding of an ended stage keeps firing for keep_firing_for."""
    tracked = TrackedRun(Times(keep_firing_ms=15_000))
    tracked.row(tracked.run.stage_done(T + W, 900), HOLDS)
    tracked.idle_until(3)
    before = list(tracked.emitted)
    tracked.idle_until(4)

    assert before == [(1, "stuck", "firing")]
    assert tracked.emitted[1:] == [(4, "stuck", "resolved")]


def test_end_of_the_application_resolves_everything():
    """The end of an application resolves all its findings, and later rows do not make them fire again."""
    tracked = TrackedRun(Times(keep_firing_ms=60_000))
    tracked.task(1, HOLDS, 77)
    tracked.task(1, HOLDS, 78)
    tracked.row(tracked.run.ended(T + 2 * W), QUIET)
    tracked.task(3, HOLDS)
    tracked.idle_until(20)

    assert tracked.emitted[2:] == [(2, "stuck", "resolved")] * 2


def test_incomplete_evidence_is_never_critical():
    """If facts were lost, a finding is never critical, because the lost facts might change the result."""
    tracked = TrackedRun(Times(), Run("app-1", T, completeness=0.98))
    found = list(tracked.lifecycle.step(tracked.run.task(T + W, 60_000), {"stuck": "critical"}, tracked.state))

    assert [each.severity for each in found if isinstance(each, Finding)] == ["warning"]


def test_severity_rises_but_does_not_fall():
    """The severity of a firing finding can rise but not fall.

    So a value that oscillates around the threshold causes only one notification.
    """
    tracked = TrackedRun(Times())
    emitted = []
    for window, severity in enumerate(["warning", "critical", "warning"], 1):
        row = tracked.run.task(T + window * W, 60_000)
        emitted += list(tracked.lifecycle.step(row, {"stuck": severity}, tracked.state))

    assert [each.severity for each in emitted if isinstance(each, Finding)] == ["warning", "critical"]
    assert {each.runs[0].started_ms for each in emitted if isinstance(each, Finding)} == {T + W}


def test_removed_rule_resolves():
    """If a rule is removed before a restart, its findings resolve instead of firing forever."""
    tracked = TrackedRun(Times())
    tracked.task(1, HOLDS)
    tracked.lifecycle = Lifecycle(RuleEvaluation({}, W, write))
    tracked.task(2, QUIET)

    assert tracked.emitted[-1] == (2, "stuck", "resolved")


def test_subjects_of_a_run_are_bounded(monkeypatch):
    """The number of subjects of a run is limited, for example if ten thousand tasks are stuck.

    A subject that resolved does not count towards the limit.
    """
    monkeypatch.setattr(lifecycle, "MAX_SUBJECTS", 10)
    tracked = TrackedRun(Times())
    for task_id in range(30):
        tracked.task(1, HOLDS, task_id)
    tracked.task(2, QUIET, 0)
    tracked.task(2, HOLDS, 29)

    assert len(list(tracked.state.subjects.items())) == 10
    assert tracked.emitted[-1] == (2, "stuck", "firing")


def test_evidence_of_absence_may_be_critical():
    """A rule about missing rows may be critical even if facts were lost.

    A rule about numbers may not be critical if facts were lost.
    """
    tracked = TrackedRun(Times(absence=True), Run("app-1", T, completeness=0.5))
    found = list(tracked.lifecycle.step(tracked.run.task(T + W, 60_000), {"stuck": "critical"}, tracked.state))

    assert [each.severity for each in found if isinstance(each, Finding)] == ["critical"]
