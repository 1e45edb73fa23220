"""Alert: one finding of a job, put together from its runs, told again while it fires and for a while after.

Alertmanager keeps nothing over a restart and ends what it is not told again, so a firing finding is said each minute
and a resolved one for five (Prometheus does the same). Time here is the clock of the process; what the record says of
the evidence is the time of the windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_stream_jobs.detect.lifecycle import worst

RESEND_MS = 60_000
RESOLVED_FOR_MS = 300_000
# Runs that join or leave a finding that fires already are told together: a thousand tasks of one stage are one word.
SETTLE_MS = 1_000
# What fires is told for at least this long: Alertmanager waits 10 s for company before it notifies anybody, and
# nobody ever hears of an alert that resolved in that time, though a stage may well end seconds after it was found out.
SHORTEST_MS = 15_000
# One finding names this many runs or tasks; more of the same tell nobody more.
MAX_RUNS = 50
# What the newest evidence says goes up from the run to the finding.
_FROM_EVIDENCE = ("summary", "description", "runbook_url", "cluster", "tenant", "evidence_ms", "completeness")


@dataclass(frozen=True)
class Alert:
    """A finding over its runs. ``*_at_ms`` are times of the process, 0 for never."""

    finding: bytes  # a Finding
    said: str = ""  # state and severity of the last record
    changed: bool = True  # runs came or went since the last record
    first_at_ms: int = 0  # when this spell was first told
    sent_at_ms: int = 0  # when the last record was made
    resolved_at_ms: int = 0


@dataclass(frozen=True)
class Telling:
    """What is to be said now, what is remembered after it (None: forget), and when to look again (None: never)."""

    alert: Alert | None
    record: Finding | None
    look_again_ms: int | None


@dataclass(frozen=True)
class Pace:
    """How often and how long a finding is told, in ms."""

    resend_ms: int = RESEND_MS
    resolved_for_ms: int = RESOLVED_FOR_MS
    settle_ms: int = SETTLE_MS
    shortest_ms: int = SHORTEST_MS


def merge(alert: Alert | None, part: Finding, now_ms: int) -> Alert | None:
    """Put what one run says into the finding of all runs. None: a run resolved that nobody had heard of."""
    known = Finding.FromString(alert.finding) if alert else None
    place = _place_of(part.runs[0], known) if known else None
    if part.state == "resolved" and (known is None or place is None or known.runs[place].state != "firing"):
        return alert
    if known is None or (known.state == "resolved" and part.state == "firing"):
        return _new_spell(alert, part)
    assert alert is not None
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
        alert,
        finding=known.SerializeToString(),
        changed=alert.changed or before != part.state,
        resolved_at_ms=alert.resolved_at_ms if firing else now_ms,
    )


def tell(alert: Alert, now_ms: int, pace: Pace) -> Telling:
    """Decide what is said of the finding at ``now_ms``.

    At once when it begins to fire, resolves or changes its severity; soon when runs join or leave; each
    ``resend_ms`` besides. A resolved one is forgotten after ``resolved_for_ms``.
    """
    finding = Finding.FromString(alert.finding)
    resolved = finding.state == "resolved"
    if resolved and now_ms >= alert.resolved_at_ms + pace.resolved_for_ms and alert.said == _said(finding):
        return Telling(None, None, None)
    due_ms = _due_ms(alert, finding, pace)
    if now_ms < due_ms:
        return Telling(alert, None, due_ms)
    after = replace(
        alert,
        finding=_without_told(finding).SerializeToString(),
        said=_said(finding),
        changed=False,
        first_at_ms=alert.first_at_ms or now_ms,
        sent_at_ms=now_ms,
    )
    finding.updated_ms = now_ms
    return Telling(after, finding, now_ms + pace.resend_ms)


def _due_ms(alert: Alert, finding: Finding, pace: Pace) -> int:
    if alert.said != _said(finding):
        return alert.first_at_ms + pace.shortest_ms if finding.state == "resolved" and alert.first_at_ms else 0
    return alert.sent_at_ms + (pace.settle_ms if alert.changed else pace.resend_ms)


def _new_spell(alert: Alert | None, part: Finding) -> Alert:
    # A resolution that was never told is told by the spell that follows it: to people it is one.
    said_firing = alert is not None and alert.said.startswith("firing")
    first_at_ms = alert.first_at_ms if alert and said_firing else 0
    if alert and said_firing:
        part.started_ms = min(part.started_ms, Finding.FromString(alert.finding).started_ms)
    return Alert(
        finding=part.SerializeToString(),
        said=alert.said if alert and said_firing else "",
        first_at_ms=first_at_ms,
        sent_at_ms=alert.sent_at_ms if alert else 0,
    )


def _put_run(known: Finding, place: int | None, part: FindingRun) -> str:
    """Take in the newest word of a run, and give how it stood before (empty: it was not there)."""
    if place is not None:
        before: str = known.runs[place].state
        known.runs[place].CopyFrom(part)
        return before
    if sum(run.state == "firing" for run in known.runs) >= MAX_RUNS:
        return part.state
    known.runs.append(part)
    return ""


def _place_of(part: FindingRun, known: Finding) -> int | None:
    """Which of the finding's runs speaks of the same; None for none."""
    key, wanted = part.run_key, _where(part)
    return next((place for place, run in enumerate(known.runs) if run.run_key == key and _where(run) == wanted), None)


def _where(run: FindingRun) -> tuple[int, int, int, str]:
    return run.stage_id, run.stage_attempt, run.task_id, run.executor_id


def _said(finding: Finding) -> str:
    return f"{finding.state} {finding.severity}"


def _without_told(finding: Finding) -> Finding:
    """The finding without the runs that resolved, which this record has told, while others fire on."""
    kept = Finding()
    kept.CopyFrom(finding)
    if finding.state == "firing":
        del kept.runs[:]
        kept.runs.extend(run for run in finding.runs if run.state == "firing")
    return kept
