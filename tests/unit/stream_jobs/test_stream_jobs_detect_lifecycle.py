"""Lifecycle: pending, firing, keep-firing and resolved, as Prometheus means them."""

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
HOLDS, QUIET = {"stuck": "warning"}, {}


@dataclass(frozen=True)
class Times:
    view: str = "task_live"
    for_ms: int = 0
    keep_firing_ms: int = 0
    absence: bool = False


def write(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
    run = FindingRun(run_key=row.run_key, state="firing", severity=severity, started_ms=started_ms)
    return Finding(rule=rule_id, state="firing", severity=severity, evidence_ms=row.window_end_ms, runs=[run])


class Watched:
    """A lifecycle with its memory; a moment passes each window, as event time does."""

    def __init__(self, times: Times, run: Run | None = None, post_end_rules: Iterable[str] = ()) -> None:
        self.run = run or Run("app-1", T)
        self.memory = LifecycleState(
            InMemoryValueState(), InMemoryValueState(), InMemoryMapState(), InMemoryValueState()
        )
        self.steps = Lifecycle(RuleEvaluation({"stuck": times, "skew": times}, W, write), frozenset(post_end_rules))
        self.wakes: set[int] = set()
        self.asked = 0
        self.said: list[tuple[int, str, str]] = []

    def row(self, row: LiveRow, severities: Mapping[str, str]) -> None:
        self._until(row.window_end_ms - 1)
        self._take(row.window_end_ms, self.steps.step(row, severities, self.memory))

    def task(self, window: int, severities: Mapping[str, str], task_id: int = 77) -> None:
        self.row(self.run.task(T + window * W, 60_000, task_id), severities)

    def idle_until(self, window: int) -> None:
        self._until(T + window * W)

    def _until(self, now_ms: int) -> None:
        while due := sorted(at for at in self.wakes if at <= now_ms):
            self.wakes -= {due[0]}
            self._take(due[0], self.steps.on_timer(due[0], self.memory))

    def _take(self, now_ms: int, found: Iterable[Finding | Timer]) -> None:
        for each in found:
            if isinstance(each, Timer):
                self.wakes.add(each.at_ms)
                self.asked += 1
            else:
                self.said.append(((now_ms - T) // W, each.rule, each.state))


def test_a_rule_that_holds_once_fires_at_once_without_for():
    """`for: 0s` waits for nothing."""
    watched = Watched(Times())
    watched.task(1, HOLDS)

    assert watched.said == [(1, "stuck", "firing")]


def test_pending_until_it_has_held_for_long_enough_and_not_a_window_earlier():
    """`for: 10s` fires at the third window of five seconds, and a gap starts it anew."""
    watched = Watched(Times(for_ms=10_000))
    for window, severities in [(1, HOLDS), (2, HOLDS), (3, QUIET), (4, HOLDS), (5, HOLDS), (6, HOLDS)]:
        watched.task(window, severities)

    assert watched.said == [(6, "stuck", "firing")]


def test_it_resolves_at_the_row_on_which_it_no_longer_holds():
    """Without keep_firing_for the first quiet evaluation resolves."""
    watched = Watched(Times())
    watched.task(1, HOLDS)
    watched.task(2, QUIET)

    assert watched.said == [(1, "stuck", "firing"), (2, "stuck", "resolved")]


def test_keep_firing_for_bridges_gaps_and_counts_from_the_last_time_that_it_held():
    """A flapping condition is one alert."""
    watched = Watched(Times(keep_firing_ms=10_000))
    for window, severities in [(1, HOLDS), (2, QUIET), (3, HOLDS), (4, QUIET), (5, QUIET)]:
        watched.task(window, severities)

    assert watched.said == [(1, "stuck", "firing"), (5, "stuck", "resolved")]


def test_the_newest_evidence_of_what_fires_is_passed_on_twice_a_minute_and_at_its_end():
    """More often is work for nobody: a finding is sent again each minute."""
    watched = Watched(Times())
    said = []
    for window in range(1, 10):
        row = watched.run.task(T + window * W, 60_000)
        said += list(watched.steps.step(row, HOLDS if window < 9 else QUIET, watched.memory))
    findings = [each for each in said if isinstance(each, Finding)]

    assert [((each.evidence_ms - T) // W, each.state) for each in findings] == [
        (1, "firing"), (7, "firing"), (8, "resolved"),
    ]  # fmt: skip


def test_a_value_that_cannot_be_worded_does_not_keep_from_resolving():
    """When nothing follows it is a timer that resolves, and an error there would end the job again and again."""
    absurd = T + 2 * W

    def picky(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        if row.window_end_ms == absurd:
            raise OverflowError("no duration is so long")
        return write(rule_id, row, severity, started_ms)

    watched = Watched(Times())
    watched.steps = Lifecycle(RuleEvaluation({"stuck": Times()}, W, picky))
    watched.task(1, HOLDS)
    watched.task(2, HOLDS)
    watched.idle_until(9)

    assert [(rule, state) for _, rule, state in watched.said] == [("stuck", "firing"), ("stuck", "resolved")]


@pytest.mark.parametrize("keep_ms, window", [(0, 4), (10_000, 4), (30_000, 7)])
def test_a_thing_without_rows_is_gone_after_three_windows_of_event_time(keep_ms: int, window: int):
    """A task that ended sends no more rows; time that does not pass (windows are down) resolves nothing."""
    watched = Watched(Times(keep_firing_ms=keep_ms))
    watched.task(1, HOLDS)
    watched.idle_until(window - 1)
    before = list(watched.said)
    watched.idle_until(window)

    assert before == [(1, "stuck", "firing")]
    assert watched.said[1:] == [(window, "stuck", "resolved")]


def test_a_run_has_one_timer_however_many_things_it_watches_and_each_still_ends_in_its_own_window():
    """Each timer is a record of its own; the earliest is enough, for it asks for the next."""
    watched = Watched(Times())
    for window in range(1, 13):
        for task_id in range(5):
            if window <= 8 + task_id % 2:
                watched.task(window, HOLDS, task_id)
        watched.idle_until(window)

    assert watched.asked <= 6, "one in three windows, and not one for each row"
    resolved = [(window, state) for window, _, state in watched.said if state == "resolved"]
    assert resolved == [(11, "resolved")] * 3 + [(12, "resolved")] * 2
    assert not watched.wakes


def test_a_pending_thing_that_is_gone_is_forgotten_silently():
    """What never fired has nothing to resolve."""
    watched = Watched(Times(for_ms=60_000))
    watched.task(1, HOLDS)
    watched.idle_until(9)

    assert watched.said == []
    assert list(watched.memory.subjects.items()) == []


def test_the_end_of_a_stage_resolves_it_and_its_tasks_but_no_other():
    """Stage ids are numbers: stage 3 ends, stage 31 goes on."""
    watched = Watched(Times())
    run = watched.run
    for row in (run.stage(T + W, 900, 3), run.stage(T + W, 900, 31), run.task(T + W, 900, 1, 3)):
        watched.row(row, HOLDS)
    watched.said.clear()
    watched.row(run.stage_ended(T + 2 * W, 3), QUIET)
    watched.row(run.stage_ended(T + 2 * W, 31), QUIET)
    first, second = watched.said[:2], watched.said[2:]

    assert first == [(2, "stuck", "resolved")] * 2
    assert second == [(2, "stuck", "resolved")]


def test_what_is_found_in_the_last_row_of_a_stage_fires_and_resolves_once_whatever_follows():
    """Task ends still follow the end of their stage; they do not page again."""
    watched = Watched(Times())
    for window in (1, 2, 3):
        watched.row(watched.run.stage_done(T + window * W, 900), HOLDS)

    assert watched.said == [(1, "stuck", "firing"), (1, "stuck", "resolved")]


def test_a_rule_that_keeps_firing_does_so_over_the_end_of_its_stage():
    """What is over for two seconds is still worth telling for its fifteen."""
    watched = Watched(Times(keep_firing_ms=15_000))
    watched.row(watched.run.stage_done(T + W, 900), HOLDS)
    watched.idle_until(3)
    before = list(watched.said)
    watched.idle_until(4)

    assert before == [(1, "stuck", "firing")]
    assert watched.said[1:] == [(4, "stuck", "resolved")]


def test_the_end_of_the_application_resolves_all_and_what_follows_changes_nothing():
    """Nothing of a run fires on after it."""
    watched = Watched(Times(keep_firing_ms=60_000))
    watched.task(1, HOLDS, 77)
    watched.task(1, HOLDS, 78)
    watched.row(watched.run.ended(T + 2 * W), QUIET)
    watched.task(3, HOLDS)
    watched.idle_until(20)

    assert watched.said[2:] == [(2, "stuck", "resolved")] * 2


def test_below_complete_evidence_critical_is_a_warning():
    """Facts that were lost may be the very ones that would say otherwise."""
    watched = Watched(Times(), Run("app-1", T, completeness=0.98))
    found = list(watched.steps.step(watched.run.task(T + W, 60_000), {"stuck": "critical"}, watched.memory))

    assert [each.severity for each in found if isinstance(each, Finding)] == ["warning"]


def test_the_severity_rises_but_does_not_fall_while_it_fires():
    """A value that swings around the threshold pages once."""
    watched = Watched(Times())
    said = []
    for window, severity in enumerate(["warning", "critical", "warning"], 1):
        row = watched.run.task(T + window * W, 60_000)
        said += list(watched.steps.step(row, {"stuck": severity}, watched.memory))

    assert [each.severity for each in said if isinstance(each, Finding)] == ["warning", "critical"]
    assert {each.runs[0].started_ms for each in said if isinstance(each, Finding)} == {T + W}


def test_a_rule_that_was_taken_out_of_the_catalog_resolves():
    """After a restart without the rule its findings do not fire for ever."""
    watched = Watched(Times())
    watched.task(1, HOLDS)
    watched.steps = Lifecycle(RuleEvaluation({}, W, write))
    watched.task(2, QUIET)

    assert watched.said[-1] == (2, "stuck", "resolved")


def test_one_run_watches_a_bounded_number_of_things(monkeypatch):
    """Ten thousand stuck tasks are not ten thousand entries of state; room that is freed is used again."""
    monkeypatch.setattr(lifecycle, "MAX_SUBJECTS", 10)
    watched = Watched(Times())
    for task_id in range(30):
        watched.task(1, HOLDS, task_id)
    watched.task(2, QUIET, 0)
    watched.task(2, HOLDS, 29)

    assert len(list(watched.memory.subjects.items())) == 10
    assert watched.said[-1] == (2, "stuck", "firing")


def test_evidence_of_absence_may_page_on_lost_facts():
    """What is not there is not there, however many facts are missing; a rule on numbers may not."""
    watched = Watched(Times(absence=True), Run("app-1", T, completeness=0.5))
    found = list(watched.steps.step(watched.run.task(T + W, 60_000), {"stuck": "critical"}, watched.memory))

    assert [each.severity for each in found if isinstance(each, Finding)] == ["critical"]


def job_failed(run: Run, window: int, job_id: int = 1) -> LiveRow:
    row = {"job_id": job_id, "status": "failed", "failure_kind": "user_code"}
    return run.row("job_live", T + window * W, job=row)


def test_what_happened_fires_at_once_and_resolves_by_the_clock():
    """A failed job has one row: `for` waits for no second one, and it fires for as long as its rule keeps it."""
    watched = Watched(Times(for_ms=60_000, keep_firing_ms=30_000))
    watched.row(job_failed(watched.run, 1), HOLDS)
    watched.idle_until(6)
    before = list(watched.said)
    watched.idle_until(7)

    assert before == [(1, "stuck", "firing")]
    assert watched.said[1:] == [(7, "stuck", "resolved")]
    assert list(watched.memory.subjects.items()) == []


def test_the_end_of_the_application_does_not_swallow_what_happened():
    """The job failed and took the application with it in the same window; also when its end comes a window late."""
    watched = Watched(Times(keep_firing_ms=30_000))
    watched.task(1, HOLDS)
    watched.row(job_failed(watched.run, 1), HOLDS)
    watched.row(watched.run.ended(T + W), QUIET)
    at_end = list(watched.said)
    watched.row(job_failed(watched.run, 2, 2), HOLDS)
    watched.idle_until(99)

    assert at_end == [(1, "stuck", "firing"), (1, "stuck", "firing"), (1, "stuck", "resolved")]
    assert watched.said[3:] == [(2, "stuck", "firing"), (8, "stuck", "resolved")]
    assert list(watched.memory.subjects.items()) == []


def test_failed_jobs_of_a_run_are_one_thing_that_lasts_as_its_last():
    """Findings know a run's failed jobs by nothing but the run: the end of the first must not end the second."""
    watched = Watched(Times(keep_firing_ms=30_000))
    watched.row(job_failed(watched.run, 1, 1), HOLDS)
    watched.row(job_failed(watched.run, 5, 2), HOLDS)
    watched.row(job_failed(watched.run, 6, 3), QUIET)
    watched.idle_until(99)

    assert watched.said == [(1, "stuck", "firing"), (5, "stuck", "firing"), (11, "stuck", "resolved")]


def loss(run: Run, window: int, executor_id: str) -> LiveRow:
    return run.row("executor_loss", T + window * W, executor_loss={"executor_id": executor_id})


def test_lost_executors_are_things_of_their_own():
    """Each resolves by its own clock."""
    watched = Watched(Times(keep_firing_ms=30_000))
    watched.row(loss(watched.run, 1, "1"), HOLDS)
    watched.row(loss(watched.run, 3, "2"), HOLDS)
    watched.row(watched.run.executor_removed(T + 3 * W, "1"), QUIET)
    watched.idle_until(99)

    assert watched.said[2:] == [(7, "stuck", "resolved"), (9, "stuck", "resolved")]


def test_causes_of_one_stage_do_not_end_each_other():
    """Failed fetches go on while an exception is seen once and no more: its row is quiet, theirs still holds."""
    watched = Watched(Times(keep_firing_ms=5_000))
    for window in range(1, 7):
        watched.row(watched.run.failure(T + window * W, failure_class="FetchFailed"), HOLDS)
        watched.row(watched.run.failure(T + window * W, failure_class="Other"), QUIET)
    still = list(watched.said)
    watched.idle_until(99)

    assert {state for _, _, state in still} == {"firing"}
    assert watched.said[len(still) :] == [(9, "stuck", "resolved")]


def test_the_end_of_a_stage_ends_its_failures():
    """It got through, or it is over."""
    watched = Watched(Times())
    watched.row(watched.run.failure(T + W), HOLDS)
    watched.row(watched.run.stage_ended(T + 2 * W), QUIET)

    assert watched.said[-1] == (2, "stuck", "resolved")


def zombie(run: Run, window: int, outlived_ms: int = 60_000) -> LiveRow:
    row = run.task(T + window * W, 90_000)
    row.task.outlived_ms = outlived_ms
    return row


def test_a_task_that_outlives_its_stage_is_ended_by_no_row_of_that_stage():
    """The ended stage goes on to have rows while the task runs; only what looks at outliving holds for it then."""
    watched = Watched(Times(), post_end_rules=["skew"])
    watched.task(1, HOLDS)
    watched.row(watched.run.stage_done(T + 2 * W, 900), QUIET)
    for window in (3, 4):
        watched.row(watched.run.stage_done(T + window * W, 900), QUIET)
        watched.row(zombie(watched.run, window), {"stuck": "warning", "skew": "warning"})
        watched.row(watched.run.stage_ended(T + window * W), QUIET)
    watched.idle_until(7)

    assert watched.said == [
        (1, "stuck", "firing"), (2, "stuck", "resolved"), (3, "skew", "firing"), (7, "skew", "resolved"),
    ]  # fmt: skip


def test_behind_its_end_an_application_may_still_be_a_zombie_and_nothing_else():
    """Rows that say how long it outlived its end count for the rules that look at that."""
    watched = Watched(Times(), post_end_rules=["skew"])
    both = {"stuck": "warning", "skew": "critical"}
    watched.row(watched.run.application(T + W), HOLDS)
    watched.row(watched.run.ended(T + 2 * W), QUIET)
    for window in (3, 4):
        watched.row(watched.run.application_done(T + window * W, 9, outlived_ms=300_000), both)
        watched.row(zombie(watched.run, window), both)
    watched.idle_until(7)

    assert watched.said == [
        (1, "stuck", "firing"), (2, "stuck", "resolved"), (3, "skew", "firing"), (7, "skew", "resolved"),
    ]  # fmt: skip


def test_what_the_last_row_of_an_application_shows_outlives_the_end_right_behind_it():
    """An application that ended with jobs that did not: its row stands before its end, in the same window."""
    watched = Watched(Times(keep_firing_ms=30_000), post_end_rules=["skew"])
    watched.row(watched.run.application_done(T + W, 900), {"skew": "warning"})
    watched.row(watched.run.ended(T + W), QUIET)
    watched.idle_until(99)

    assert watched.said == [(1, "skew", "firing"), (7, "skew", "resolved")]
    assert watched.memory.watched.value() == 0


def test_what_is_pending_at_the_end_of_an_application_goes_on_behind_it():
    """A short application that lost facts is over before the rule's time is; its rows behind the end make it full."""
    watched = Watched(Times(for_ms=3 * W), post_end_rules=["skew"])
    for window in (1, 2):
        watched.row(watched.run.application(T + window * W), {"skew": "warning", "stuck": "warning"})
    watched.row(watched.run.ended(T + 2 * W), QUIET)
    for window in (3, 4):
        watched.row(watched.run.application_done(T + window * W, 9), {"skew": "warning", "stuck": "warning"})
    watched.idle_until(99)

    assert watched.said == [(4, "skew", "firing"), (7, "skew", "resolved")]
    assert watched.memory.watched.value() == 0


def test_hosts_of_one_name_in_two_clusters_are_two_things():
    """One key may hold both."""
    watched = Watched(Times())
    for cluster, severities in (("a", HOLDS), ("b", QUIET)):
        row = LiveRow(view="host_live", cluster=cluster, window_end_ms=T + W, host={"host": "h1"})
        watched.row(row, severities)

    assert watched.said == [(1, "stuck", "firing")]
