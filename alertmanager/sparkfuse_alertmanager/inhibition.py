"""Convert the rules' inhibitions to Alertmanager's configuration, and align the ends of inhibited alerts.

Alertmanager does not notify that an inhibited alert resolved, and then treats the alert of the next run as already
notified. So if an alert resolves while it is inhibited, the sender ends it together with its cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkfuse_alertmanager.alert import Alert
from sparkfuse_rules.alert_labels import alert_name
from sparkfuse_rules.catalog_inhibitions import HOST, catalog_inhibitions
from sparkfuse_rules.inhibition import Inhibition

# The annotation of an inhibited alert that has resolved: the id of the finding for whose end the alert waits.
WAITS_FOR = "waits_for"
_RANK = {"critical": 2, "warning": 1}


def inhibit_rules(found: Iterable[Inhibition]) -> Iterator[Mapping[str, Sequence[str]]]:
    """Yield Alertmanager's inhibit rules: a critical alert inhibits all its symptoms, a warning only warnings.

    A finding about an application is less specific than one about a stage, so its alert inhibits others only if it is
    critical.
    """
    for each in found:
        # Our names: the alerts of other teams may have labels of the same names.
        cause = f'alertname="{alert_name(each.cause)}"'
        symptoms = f'alertname=~"{"|".join(map(alert_name, each.silences))}"'
        if each.pages:
            yield _rule(cause, 'severity="critical"', symptoms, None, each.equal)
        yield _rule(cause, 'severity=~"critical|warning"', symptoms, 'severity!="critical"', each.equal)


def align_ends(alerts: Sequence[Alert], related: Iterable[Alert], now_ms: int) -> list[Alert]:
    """Return ``alerts`` with the ends of inhibited symptoms moved to the ends of their causes.

    ``related`` are the alerts in Alertmanager whose rules inhibit another rule or are inhibited by another rule. If a
    held symptom waited for a cause that has now ended, the symptom is added to the result.
    """
    new = {alert.finding_id: alert for alert in alerts}
    others = {alert.finding_id: alert for alert in related if alert.finding_id not in new}
    causes = [alert for alert in (*new.values(), *others.values()) if alert.ends_ms > now_ms]
    aligned = [_waiting(alert, causes) if alert.ends_ms <= now_ms else alert for alert in alerts]
    ended = {alert.finding_id: alert.ends_ms for alert in alerts if alert.ends_ms <= now_ms}
    waiting = [(each, ended.get(each.annotations.get(WAITS_FOR, ""))) for each in others.values()]
    return aligned + [
        replace(each, ends_ms=max(ends_ms, each.starts_ms)) for each, ends_ms in waiting if ends_ms is not None
    ]


def _waiting(ended: Alert, causes: Sequence[Alert]) -> Alert:
    inhibiting = [cause for cause in causes if _inhibits(cause, ended)]
    if not inhibiting:
        return ended
    last = max(inhibiting, key=lambda cause: cause.ends_ms)
    return replace(ended, annotations={**ended.annotations, WAITS_FOR: last.finding_id}, ends_ms=last.ends_ms)


def _inhibits(cause: Alert, symptom: Alert) -> bool:
    rank = _RANK.get(cause.labels["severity"], 0)
    if rank < max(1, _RANK.get(symptom.labels["severity"], 0)):
        return False
    return any(
        each.cause == cause.labels["rule"]
        and (rank == _RANK["critical"] or not each.only_pages)
        and symptom.labels["rule"] in each.silences
        and all(cause.labels.get(name) == symptom.labels.get(name) for name in each.equal)
        for each in catalog_inhibitions()
    )


def _rule(
    cause: str, cause_severity: str, symptoms: str, symptom_severity: str | None, equal: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    # For Alertmanager, labels that both alerts lack are equal.
    named = [f'{HOST}!=""'] if HOST in equal else []
    return {
        "source_matchers": [cause, cause_severity, *named],
        "target_matchers": [symptoms, *([symptom_severity] if symptom_severity else [])],
        "equal": list(equal),
    }
