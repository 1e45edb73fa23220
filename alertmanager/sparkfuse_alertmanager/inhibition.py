"""The rules' inhibitions in Alertmanager's configuration, and what becomes of an alert that ends while it is muted.

Alertmanager never tells a receiver that a muted alert resolved, and would then take the one of the next run for one
already told. So an alert that was told and ends under a cause lives on until the cause ends, and both resolve together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkfuse_alertmanager.alert import Alert
from sparkfuse_alertmanager.causes import known
from sparkfuse_rules.inhibition import Inhibition

# Names the finding whose end an alert waits for.
WAITS_FOR = "waits_for"
_RANK = {"critical": 2, "warning": 1}


def inhibit_rules(found: Iterable[Inhibition]) -> Iterator[Mapping[str, Sequence[str]]]:
    """As Alertmanager's configuration has them: a page silences all its symptoms, a warning only warnings.

    What speaks of a whole application says less than what names its stage, so only its page silences.
    """
    for each in found:
        symptoms = f'rule=~"{"|".join(each.silences)}"'
        if each.pages:
            yield _rule(f'rule="{each.cause}"', 'severity="critical"', symptoms, None, each.equal)
        yield _rule(
            f'rule="{each.cause}"', 'severity=~"critical|warning"', symptoms, 'severity!="critical"', each.equal
        )


def together(told: Sequence[Alert], related: Iterable[Alert], now_ms: int) -> list[Alert]:
    """``told`` with the ends of symptoms moved to those of their causes; ``related`` are held alerts of such rules."""
    news = {alert.finding_id: alert for alert in told}
    others = {alert.finding_id: alert for alert in related if alert.finding_id not in news}
    causes = [alert for alert in (*news.values(), *others.values()) if alert.ends_ms > now_ms]
    said = [_waiting(alert, causes) if alert.ends_ms <= now_ms else alert for alert in told]
    over = {alert.finding_id: alert.ends_ms for alert in told if alert.ends_ms <= now_ms}
    waited = [(each, over.get(each.annotations.get(WAITS_FOR, ""))) for each in others.values()]
    return said + [
        replace(each, ends_ms=max(ends_ms, each.starts_ms)) for each, ends_ms in waited if ends_ms is not None
    ]


def _waiting(ended: Alert, causes: Sequence[Alert]) -> Alert:
    above = [cause for cause in causes if _mutes(cause, ended)]
    if not above:
        return ended
    last = max(above, key=lambda cause: cause.ends_ms)
    return replace(ended, annotations={**ended.annotations, WAITS_FOR: last.finding_id}, ends_ms=last.ends_ms)


def _mutes(cause: Alert, symptom: Alert) -> bool:
    rank = _RANK.get(cause.labels["severity"], 0)
    if rank < max(1, _RANK.get(symptom.labels["severity"], 0)):
        return False
    return any(
        each.cause == cause.labels["rule"]
        and (rank == _RANK["critical"] or not each.only_pages)
        and symptom.labels["rule"] in each.silences
        and all(cause.labels.get(name) == symptom.labels.get(name) for name in each.equal)
        for each in known()
    )


def _rule(
    cause: str, cause_severity: str, symptoms: str, symptom_severity: str | None, equal: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    return {
        "source_matchers": [cause, cause_severity],
        "target_matchers": [symptoms, *([symptom_severity] if symptom_severity else [])],
        "equal": list(equal),
    }
