"""Lifecycle: pending, firing, keep-firing and resolved, as Prometheus means them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import lifecycle
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle, Memory, Wake
from sparkfuse_stream_jobs.detect.memory import HeldCell, HeldShelf
from tests.unit.stream_jobs.detect_rows import Run

T, W = 1_795_226_400_000, 5_000
HOLDS, QUIET = {"stuck": "warning"}, {}


@dataclass(frozen=True)
class Times:
    view: str = "task_live"
    for_ms: int = 0
    keep_firing_ms: int = 0


def write(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
    run = FindingRun(run_key=row.run_key, state="firing", severity=severity, started_ms=started_ms)
    return Finding(rule=rule_id, state="firing", severity=severity, evidence_ms=row.window_end_ms, runs=[run])


class Watched:
    """A lifecycle with its memory; a moment passes each window, as event time does."""

    def __init__(self, times: Times, run: Run | None = None) -> None:
        self.run = run or Run("app-1", T)
        self.memory = Memory(HeldCell(), HeldCell(), HeldShelf())
        self.steps = Lifecycle({"stuck": times, "skew": times}, W, write)
        self.wakes: set[int] = set()
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
            self._take(due[0], self.steps.wake(due[0], self.memory))

    def _take(self, now_ms: int, found: Iterable[Finding | Wake]) -> None:
        for each in found:
            if isinstance(each, Wake):
                self.wakes.add(each.at_ms)
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

    assert watched.said == [(1, "stuck", "firing"), (3, "stuck", "firing"), (5, "stuck", "resolved")]


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


def test_a_pending_thing_that_is_gone_is_forgotten_silently():
    """What never fired has nothing to resolve."""
    watched = Watched(Times(for_ms=60_000))
    watched.task(1, HOLDS)
    watched.idle_until(9)

    assert watched.said == []
    assert list(watched.memory.units.items()) == []


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

    assert [each.severity for each in said if isinstance(each, Finding)] == ["warning", "critical", "critical"]
    assert {each.runs[0].started_ms for each in said if isinstance(each, Finding)} == {T + W}


def test_a_rule_that_was_taken_out_of_the_catalog_resolves():
    """After a restart without the rule its findings do not fire for ever."""
    watched = Watched(Times())
    watched.task(1, HOLDS)
    watched.steps = Lifecycle({}, W, write)
    watched.task(2, QUIET)

    assert watched.said[-1] == (2, "stuck", "resolved")


def test_one_run_watches_a_bounded_number_of_things(monkeypatch):
    """Ten thousand stuck tasks are not ten thousand entries of state; room that is freed is used again."""
    monkeypatch.setattr(lifecycle, "MAX_UNITS", 10)
    watched = Watched(Times())
    for task_id in range(30):
        watched.task(1, HOLDS, task_id)
    watched.task(2, QUIET, 0)
    watched.task(2, HOLDS, 29)

    assert len(list(watched.memory.units.items())) == 10
    assert watched.said[-1] == (2, "stuck", "firing")
