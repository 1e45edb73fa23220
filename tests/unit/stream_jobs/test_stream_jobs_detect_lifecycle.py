"""Tests the lifecycle of findings: pending, firing, keep-firing and resolved, as in Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import lifecycle
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, Timer
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState, InMemoryValueState
from tests.unit.stream_jobs.detect_rows import Run

T, W = 1_795_226_400_000, 5_000
HOLDS = {"stuck": "warning"}
QUIET: dict[str, str] = {}


@dataclass(frozen=True)
class Times:
    view: str = "task_live"
    for_ms: int = 0
    keep_firing_ms: int = 0
    absence: bool = False


def write(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
    run = FindingRun(run_key=row.run_key, state="firing", severity=severity, started_ms=started_ms)
    return Finding(rule=rule_id, state="firing", severity=severity, evidence_ms=row.window_end_ms, runs=[run])


class TrackedRun:
    """Runs a lifecycle of findings with its state; timers fire in the order of event time."""

    def __init__(self, times: Times, run: Run | None = None, post_end_rules: Iterable[str] = ()) -> None:
        self.run = run or Run("app-1", T)
        self.state = LifecycleState(
            InMemoryValueState(), InMemoryValueState(), InMemoryMapState(), InMemoryValueState()
        )
        self.lifecycle = Lifecycle(RuleEvaluation({"stuck": times, "skew": times}, W, write), frozenset(post_end_rules))
        self.timers: set[int] = set()
        self.timers_set = 0
        self.emitted: list[tuple[int, str, str]] = []

    def row(self, row: LiveRow, severities: Mapping[str, str]) -> None:
        self._until(row.window_end_ms - 1)
        self._collect(row.window_end_ms, self.lifecycle.step(row, severities, self.state))

    def task(self, window: int, severities: Mapping[str, str], task_id: int = 77) -> None:
        self.row(self.run.task(T + window * W, 60_000, task_id), severities)

    def idle_until(self, window: int) -> None:
        self._until(T + window * W)

    def _until(self, now_ms: int) -> None:
        while due := sorted(at for at in self.timers if at <= now_ms):
            self.timers -= {due[0]}
            self._collect(due[0], self.lifecycle.on_timer(due[0], self.state))

    def _collect(self, now_ms: int, found: Iterable[Finding | Timer]) -> None:
        for each in found:
            if isinstance(each, Timer):
                self.timers.add(each.at_ms)
                self.timers_set += 1
            else:
                self.emitted.append(((now_ms - T) // W, each.rule, each.state))


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


def since(row: LiveRow, epoch_ms: int, incomplete: bool = True) -> LiveRow:
    """Return the row as a row of an epoch; an incomplete row lacks the facts from before the epoch."""
    row.row_epoch_ms = epoch_ms
    if incomplete:
        row.incomplete_since_ms, row.completeness = epoch_ms, 0.5
    return row


def test_new_epoch_neither_resolves_nor_fires_again():
    """If a row that lacks its beginning makes the condition false, the rule keeps firing until its subject ends.

    Once the condition was true in the new epoch, a later row on which it is false resolves the finding.
    """
    epoch_ms = T + 2 * W
    lost, matched = TrackedRun(Times("stage_live")), TrackedRun(Times("stage_live"))
    for tracked in (lost, matched):
        tracked.row(since(tracked.run.stage(T + W, 900), T, incomplete=False), HOLDS)
        for window in range(3, 20):
            severities = HOLDS if tracked is matched and window == 4 else QUIET
            tracked.row(since(tracked.run.stage(T + window * W, 900), epoch_ms), severities)
    lost.row(lost.run.stage_ended(T + 20 * W), QUIET)

    assert lost.emitted == [(1, "stuck", "firing"), (20, "stuck", "resolved")]
    assert matched.emitted == [(1, "stuck", "firing"), (5, "stuck", "resolved")]


def test_row_without_its_beginning_does_not_lower_the_severity():
    """A rule that fires as critical stays critical; on a row without its beginning no other rule becomes critical."""
    tracked = TrackedRun(Times("stage_live"))
    tracked.row(since(tracked.run.stage(T + W, 900), T, incomplete=False), {"stuck": "critical"})
    tracked.row(since(tracked.run.stage(T + 3 * W, 900), T + W), {"stuck": "critical", "skew": "critical"})
    subject = next(iter(dict(tracked.state.subjects.items()).values()))

    assert {rule: each.severity for rule, each in subject.rules.items()} == {"stuck": "critical", "skew": "warning"}


def test_application_recovers_within_an_hour_of_the_epoch():
    """If rows lack the facts from before the epoch, a finding that no longer holds resolves after one hour."""
    tracked = TrackedRun(Times("app_live"))
    tracked.row(since(tracked.run.application(T + W), T, incomplete=False), HOLDS)
    for window in range(2, 800):
        tracked.row(since(tracked.run.application(T + window * W), T + W), QUIET)

    assert tracked.emitted == [(1, "stuck", "firing"), (721, "stuck", "resolved")]
