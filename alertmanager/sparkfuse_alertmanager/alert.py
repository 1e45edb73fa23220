"""Convert findings to Alertmanager's alerts, with pure functions.

The labels of an alert are its identity. The labels contain the values that are the same in all runs of a job: job,
rule, scope, cluster, tenant and finding id. The severity is also a label, because Alertmanager routes by labels only.
Values that change with each run, such as the application id, are annotations. So a finding whose severity changes
becomes a new alert, and ``alerts_to_post`` resolves the old alert.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.text import address
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_rules.alert_labels import alert_labels, alert_name, finding_host, latest_run
from sparkfuse_rules.knowledge.money import cost_sentence
from sparkfuse_rules.plain_text import plain

# The time after which a firing alert expires: four times the interval at which a finding is repeated. So an alert
# survives the loss of three repetitions in a row.
FIRING_MS = 4 * 60_000
# These labels describe the latest run; the other labels are the same in all runs.
LABELS_OF_LATEST_RUN = frozenset({"host", "cause"})
SEVERITIES = ("critical", "warning", "info")
CRITICAL, WARNING, INFO = SEVERITIES
STATES = ("firing", "resolved")
# The largest number of characters of each annotation. If all annotations together exceed TOTAL, the annotations at the
# beginning of this list have priority.
ANNOTATION_LIMITS: Mapping[str, int] = {
    "summary": 200,
    "demoted": 200,
    "held_back": 200,
    "description": 1000,
    "where": 200,
    "cost": 200,
    "first_step": 300,
    "owner": 200,
    "run": 200,
    "app_id": 300,
    "completeness": 20,
    "evidence_time": 30,
    "became": 20,
    "evidence": 1000,
}
TOTAL = 2800
RUNS_SHOWN = 5
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_RULE = re.compile(r"[a-z][a-z0-9_]{0,99}")


class InvalidFindingError(ValueError):
    """A required field of a finding is absent or invalid; the message becomes the reason of its dead letter."""


@dataclass(frozen=True)
class Alert:
    """One alert of Alertmanager's API v2; times are milliseconds since 1970-01-01 UTC."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_ms: int
    ends_ms: int
    generator_url: str

    @property
    def finding_id(self) -> str:
        """The id of the alert's finding."""
        return self.labels.get("finding_id", "")

    def to_json(self) -> dict[str, Any]:
        """Return the alert in the format of ``POST /api/v2/alerts``."""
        return {
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "startsAt": _rfc3339(self.starts_ms),
            "endsAt": _rfc3339(self.ends_ms),
            "generatorURL": self.generator_url,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Alert:
        """Read an alert in the format of ``GET /api/v2/alerts``."""
        return cls(
            labels=dict(content["labels"]),
            annotations=dict(content["annotations"]),
            starts_ms=_milliseconds(content["startsAt"]),
            ends_ms=_milliseconds(content["endsAt"]),
            generator_url=str(content.get("generatorURL", "")),
        )


def alert_of(
    finding: Finding,
    now_ms: int,
    links: Links,
    first_steps: Mapping[str, str] = MappingProxyType({}),
    demoted: str = "",
) -> Alert:
    """Return the alert for ``finding`` at ``now_ms``; ``first_steps`` has the first step of the runbook by rule.

    A firing alert ends FIRING_MS after the finding's last update, so the alert expires if the finding is not repeated.
    Times in the future are limited to ``now_ms``. If ``demoted`` has a reason, the alert has the severity info, and the
    reason as an annotation, unless the finding is info anyway. Raises InvalidFindingError if a required field is absent
    or invalid.
    """
    _check(finding)
    updated_ms = min(finding.updated_ms, now_ms)
    resolved_ms = min(finding.resolved_ms or updated_ms, now_ms)
    ends_ms = resolved_ms if finding.state == "resolved" else updated_ms + FIRING_MS
    demoted = demoted if finding.severity != INFO else ""
    return Alert(
        labels={**alert_labels(finding), **({"severity": INFO} if demoted else {})},
        annotations=_annotations(finding, links, first_steps.get(finding.rule, ""), demoted),
        starts_ms=min(finding.started_ms or updated_ms, ends_ms),
        ends_ms=ends_ms,
        generator_url=links.finding(finding),
    )


def expired(finding: Finding, now_ms: int) -> bool:
    """Return whether a finding is too old to be sent: Alertmanager would treat its alert as expired."""
    return finding.updated_ms + FIRING_MS <= now_ms


def alerts_to_post(alerts: Sequence[Alert], held: Iterable[Alert], now_ms: int) -> list[Alert]:
    """Return the alerts to post to an Alertmanager that now has the alerts ``held``; ``alerts`` has one per finding.

    If a held alert of a finding has other labels than the new alert, the held alert is resolved. Its annotation
    contains the new severity. If the held alert is a warning and the finding is now critical, the warning ends together
    with the critical alert. Otherwise the warning would resolve while the critical alert inhibits it. Alertmanager does
    not notify that an inhibited alert resolved, and would then not notify about the warning of the next run. A new
    alert that is already resolved is not posted if all held alerts of its finding have other labels, because nobody was
    notified of it. A finding that moves to another host or has another shared cause keeps the labels of its held alert
    while that alert fires, because a new alert would be a second notification.
    """
    held = list(held)
    alerts = [_with_held_labels(alert, held, now_ms) for alert in alerts]
    by_finding = {alert.finding_id: alert for alert in alerts}
    of_same_finding = [old for old in held if old.finding_id in by_finding]
    same = {old.finding_id for old in of_same_finding if old.labels == by_finding[old.finding_id].labels}
    others = [old for old in of_same_finding if old.labels != by_finding[old.finding_id].labels]
    only_other_labels = {old.finding_id for old in others} - same
    current = [alert for alert in alerts if alert.ends_ms > now_ms or alert.finding_id not in only_other_labels]
    return current + [_superseded(old, by_finding[old.finding_id], now_ms) for old in others]


def _with_held_labels(alert: Alert, held: Iterable[Alert], now_ms: int) -> Alert:
    """Return the alert with the labels of the held alert that fires and differs in labels of the latest run only."""
    fixed = _fixed_labels(alert)
    same = (old.labels for old in held if old.ends_ms > now_ms and _fixed_labels(old) == fixed)
    return replace(alert, labels=next(same, alert.labels))


def _fixed_labels(alert: Alert) -> Mapping[str, str]:
    return {name: value for name, value in alert.labels.items() if name not in LABELS_OF_LATEST_RUN}


def _superseded(old: Alert, new: Alert, now_ms: int) -> Alert:
    firing = new.ends_ms > now_ms
    inhibited = (old.labels.get("severity"), new.labels["severity"]) == ("warning", "critical")
    became = {"became": new.labels["severity"]} if firing else {}
    ends_ms = new.ends_ms if inhibited else min(new.ends_ms, now_ms)
    starts_ms = min(old.starts_ms, ends_ms)
    return replace(old, annotations={**old.annotations, **became}, starts_ms=starts_ms, ends_ms=ends_ms)


def _check(finding: Finding) -> None:
    if not _ID.fullmatch(finding.finding_id):
        raise InvalidFindingError("finding_id must be 1 to 64 letters, digits, '-' or '_'")
    if not _RULE.fullmatch(finding.rule):
        raise InvalidFindingError("rule must be the id of a rule: lowercase letters, digits and '_'")
    if finding.severity not in SEVERITIES:
        raise InvalidFindingError(f"severity must be one of {', '.join(SEVERITIES)}")
    if finding.state not in STATES:
        raise InvalidFindingError(f"state must be one of {', '.join(STATES)}")
    for name in ("updated_ms", "started_ms", "resolved_ms"):
        # Alertmanager cannot represent times after the year 9999.
        if not 0 <= getattr(finding, name) < 253_370_764_800_000:
            raise InvalidFindingError(f"{name} must be milliseconds since 1970")
    if not finding.updated_ms:
        raise InvalidFindingError("updated_ms is absent")


def _annotations(finding: Finding, links: Links, first_step: str, demoted: str) -> dict[str, str]:
    run = latest_run(finding)
    texts = {
        "summary": finding.summary or alert_name(finding.rule),
        "demoted": demoted,
        "description": finding.description,
        "where": _where(run, finding_host(finding)),
        "first_step": first_step,
        "cost": _cost(run, finding.currency),
        "owner": finding.owner,
        "run": run.run_key,
        "app_id": _applications(finding),
        "completeness": f"{finding.completeness:.1%}" if finding.HasField("completeness") else "",
        "evidence_time": _rfc3339(finding.evidence_ms) if finding.HasField("evidence_ms") else "",
        "evidence": ", ".join(f"{name}={value}" for name, value in sorted(run.evidence.items())),
    }
    annotations, remaining = {}, TOTAL
    for name, limit in ANNOTATION_LIMITS.items():
        annotations[name] = plain(texts.get(name, ""), min(limit, remaining))
        remaining -= len(annotations[name])
    annotations |= {
        "runbook_url": address(finding.runbook_url),
        "finding_url": links.finding(finding),
        "dashboard_url": links.dashboard(finding),
    }
    return {name: text for name, text in annotations.items() if text}


def _cost(run: FindingRun, currency: str) -> str:
    """Return the costs of the run as a sentence; empty if they are unknown."""
    avoidable = run.cost_avoidable if run.HasField("cost_avoidable") else None
    return cost_sentence(run.cost if run.HasField("cost") else None, avoidable, currency)


def _where(run: FindingRun, host: str) -> str:
    parts = []
    if run.HasField("stage_id"):
        stage = f"stage {run.stage_id}.{run.stage_attempt}"
        parts.append(f"{run.stage_name} ({stage})" if run.stage_name else stage)
    if run.HasField("task_id"):
        parts.append(f"task {run.task_id}")
    if run.HasField("executor_id"):
        parts.append(f"executor {run.executor_id}")
    if host:
        parts.append(f"host {host}")
    return ", ".join(parts)


def _applications(finding: Finding) -> str:
    newest_first = sorted(finding.runs, key=lambda run: run.started_ms, reverse=True)
    names = list(dict.fromkeys(plain(run.app_id, 100) for run in newest_first if run.app_id))
    more = f" and {len(names) - RUNS_SHOWN} more" if len(names) > RUNS_SHOWN else ""
    return ", ".join(names[:RUNS_SHOWN]) + more


def _rfc3339(milliseconds: int) -> str:
    seconds, rest = divmod(min(max(milliseconds, 0), 253_370_764_799_999), 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
