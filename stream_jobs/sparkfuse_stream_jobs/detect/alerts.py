"""Merges the findings of a job's runs into one finding, and decides when it is published.

Alertmanager loses its alerts at a restart, and resolves an alert that is not sent again. So a firing finding is
published every minute, and a resolved one every minute for five minutes, as Prometheus does. Times in this module
are wall-clock times of the process; the evidence in the record has the time of the windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_stream_jobs.detect.lifecycle_state import worst

RESEND_MS = 60_000
RESOLVED_FOR_MS = 300_000
# Runs that join or leave a firing finding within this time are published together: a thousand tasks of one stage cause
# one record.
SETTLE_MS = 1_000
# A finding is published as firing for at least this long. Alertmanager waits 10 s before it notifies, and sends no
# notification for an alert that resolves earlier, for example because its stage ended.
MIN_FIRING_MS = 15_000
# A finding lists at most this many runs or tasks; a longer list would not help the reader.
MAX_RUNS = 50
# Fields of the finding that the newest evidence of a run replaces.
_FROM_EVIDENCE = (
    "summary",
    "description",
    "runbook_url",
    "cluster",
    "tenant",
    "evidence_ms",
    "completeness",
    "currency",
    "precision_target",
)


@dataclass(frozen=True)
class FindingGroup:
    """One finding over all runs of its job. ``*_at_ms`` are times of the process, 0 for never."""

    finding: bytes  # a Finding
    published: str = ""  # state and severity of the last record
    changed: bool = True  # runs joined or left since the last record
    first_at_ms: int = 0  # when the finding was first published after it last began to fire
    sent_at_ms: int = 0  # when the last record was published
    resolved_at_ms: int = 0


@dataclass(frozen=True)
class Publication:
    """The record to publish now, the group to store (None: drop it), and when to check again (None: never)."""

    group: FindingGroup | None
    record: Finding | None
    next_check_ms: int | None


@dataclass(frozen=True)
class PublishIntervals:
    """How often and how long a finding is published, in ms."""

    resend_ms: int = RESEND_MS
    resolved_for_ms: int = RESOLVED_FOR_MS
    settle_ms: int = SETTLE_MS
    min_firing_ms: int = MIN_FIRING_MS


def merge(group: FindingGroup | None, part: Finding, now_ms: int) -> FindingGroup | None:
    """Merge the finding of one run into the group of all runs; the end of a run that was not firing changes nothing."""
    known = Finding.FromString(group.finding) if group else None
    place = _place_of(part.runs[0], known) if known else None
    if part.state == "resolved" and (known is None or place is None or known.runs[place].state != "firing"):
        return group
    if known is None or (known.state == "resolved" and part.state == "firing"):
        return _start_firing(group, part)
    assert group is not None
    before = _put_run(known, place, part.runs[0])
    if part.state == "firing":
        for name in _FROM_EVIDENCE:
            known.ClearField(name)
            if part.HasField(name):
                setattr(known, name, getattr(part, name))
    firing = {run.severity for run in known.runs if run.state == "firing"}
    known.state = "firing" if firing else "resolved"
    known.severity = worst(*(firing or {run.severity for run in known.runs}))
    if not firing:
        known.resolved_ms = max(run.resolved_ms for run in known.runs)
    return replace(
        group,
        finding=known.SerializeToString(),
        changed=group.changed or before != part.state,
        resolved_at_ms=group.resolved_at_ms if firing else now_ms,
    )


def next_publication(group: FindingGroup, now_ms: int, intervals: PublishIntervals) -> Publication:
    """Decide what is published at ``now_ms``.

    A record is due immediately when the finding starts to fire, resolves or changes its severity; after ``settle_ms``
    when runs join or leave; and every ``resend_ms``. A resolved finding is dropped after ``resolved_for_ms``.
    """
    finding = Finding.FromString(group.finding)
    resolved = finding.state == "resolved"
    if resolved and now_ms >= group.resolved_at_ms + intervals.resolved_for_ms and group.published == _status(finding):
        return Publication(None, None, None)
    due_ms = _due_ms(group, finding, intervals)
    if now_ms < due_ms:
        return Publication(group, None, due_ms)
    after = replace(
        group,
        finding=_without_resolved_runs(finding).SerializeToString(),
        published=_status(finding),
        changed=False,
        first_at_ms=group.first_at_ms or now_ms,
        sent_at_ms=now_ms,
    )
    finding.updated_ms = now_ms
    return Publication(after, finding, now_ms + intervals.resend_ms)


def _due_ms(group: FindingGroup, finding: Finding, intervals: PublishIntervals) -> int:
    if group.published != _status(finding):
        resolved = finding.state == "resolved" and group.first_at_ms
        return group.first_at_ms + intervals.min_firing_ms if resolved else 0
    return group.sent_at_ms + (intervals.settle_ms if group.changed else intervals.resend_ms)


def _start_firing(group: FindingGroup | None, part: Finding) -> FindingGroup:
    # If the previous resolution was never published, readers have seen the finding fire without interruption.
    published_firing = group is not None and group.published.startswith("firing")
    first_at_ms = group.first_at_ms if group and published_firing else 0
    if group and published_firing:
        part.started_ms = min(part.started_ms, Finding.FromString(group.finding).started_ms)
    return FindingGroup(
        finding=part.SerializeToString(),
        published=group.published if group and published_firing else "",
        first_at_ms=first_at_ms,
        sent_at_ms=group.sent_at_ms if group else 0,
    )


def _put_run(known: Finding, place: int | None, part: FindingRun) -> str:
    """Store the newest state of a run, and return its previous state (empty if it is new)."""
    if place is not None:
        before: str = known.runs[place].state
        known.runs[place].CopyFrom(part)
        return before
    if sum(run.state == "firing" for run in known.runs) >= MAX_RUNS:
        return part.state
    known.runs.append(part)
    return ""


def _place_of(part: FindingRun, known: Finding) -> int | None:
    """Return the index of the finding's run with the same run key and location; None if there is none."""
    key, wanted = part.run_key, _location(part)
    return next(
        (place for place, run in enumerate(known.runs) if run.run_key == key and _location(run) == wanted), None
    )


def _location(run: FindingRun) -> tuple[int, int, int, str]:
    return run.stage_id, run.stage_attempt, run.task_id, run.executor_id


def _status(finding: Finding) -> str:
    return f"{finding.state} {finding.severity}"


def _without_resolved_runs(finding: Finding) -> Finding:
    """Return the finding to store; while it fires, resolved runs are removed, because they are published now."""
    kept = Finding()
    kept.CopyFrom(finding)
    if finding.state == "firing":
        del kept.runs[:]
        kept.runs.extend(run for run in finding.runs if run.state == "firing")
    return kept
