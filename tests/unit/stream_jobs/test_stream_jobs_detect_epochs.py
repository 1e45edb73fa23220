"""Tests that a new epoch of rows neither resolves findings nor lets them fire again."""

from __future__ import annotations

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from tests.unit.stream_jobs.tracked_run import HOLDS, QUIET, T, Times, TrackedRun, W


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
