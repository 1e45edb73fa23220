"""Alerts about the budget of pages: findings beyond it become warnings, and one alert for each team lists them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkfuse_alertmanager.alert import ANNOTATION_LIMITS, FIRING_MS, WARNING, Alert
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.page_decisions import Held, PageDecisions, Team, team_of
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_rules.alert_labels import alert_name
from sparkfuse_rules.plain_text import label, plain

RULE = "pages_held_back"
LISTED = 20


def held_back(alerts: Iterable[Alert], reasons: Mapping[str, str]) -> Iterator[Alert]:
    """Yield the alerts; an alert with a reason, by finding id, becomes a warning, which does not page."""
    for alert in alerts:
        if reason := reasons.get(alert.finding_id):
            text = plain(reason, ANNOTATION_LIMITS["held_back"])
            labels, annotations = {**alert.labels, "severity": WARNING}, {**alert.annotations, "held_back": text}
            yield replace(alert, labels=labels, annotations=annotations)
        else:
            yield alert


def digests(held: Iterable[Finding], decisions: PageDecisions, now_ms: int, links: Links) -> Iterator[Alert]:
    """Yield an alert for each team of ``held``, which lists all findings of the team that were held back today.

    The alert ends after the last of these findings, because the sender repeats it with each of them.
    """
    for team in dict.fromkeys(team_of(each) for each in held):
        if listed := decisions.held(team, now_ms):
            yield _digest(team, listed, now_ms, links)


def _digest(team: Team, listed: Sequence[Held], now_ms: int, links: Links) -> Alert:
    identity = hashlib.sha256("\n".join(team).encode("utf-8", "replace")).hexdigest()[:16]
    labels = {
        "alertname": alert_name(RULE),
        "rule": RULE,
        "severity": WARNING,
        "finding_id": f"pages-{identity}",
        "tenant": label(team.tenant),
        "team": label(team.team),
    }
    # The newest findings, because the earlier ones were in an earlier notification.
    shown = [f"{each.rule} in {each.job_key}" for each in reversed(listed[-LISTED:])]
    more = f", and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return Alert(
        labels={name: value for name, value in labels.items() if value},
        annotations={
            "summary": plain(f"{len(listed)} critical findings of {team} did not page today", 200),
            "description": plain(f"The pages of the day are used up. Not paged: {', '.join(shown)}{more}.", 1000),
            "finding_url": links.inbox(team.team),
        },
        starts_ms=min(listed[0].at_ms, now_ms),
        ends_ms=now_ms + FIRING_MS,
        generator_url=links.inbox(team.team),
    )
