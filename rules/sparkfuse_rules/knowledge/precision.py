"""The precision of a rule in a job class, from people's verdicts, and whether the rule is demoted to info.

Precision is the share of judged findings that were useful. The interval is Wilson's score interval (Wilson 1927), which
is also valid for few verdicts: with no verdict it is 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

USEFUL, NOT_USEFUL, FIXED, ACCEPTED = VERDICTS = ("useful", "not-useful", "fixed", "accepted")
# People stop reading notifications if most of them are not useful. With this target, six findings that were not useful
# demote a rule if none was useful, and a rule with two useful findings in five is never demoted.
DEFAULT_TARGET = 0.4
# Older verdicts do not count, because the rule, the job and the team have changed since. So a demotion also ends by
# itself, and people judge the rule again.
VERDICT_LIFE_MS = 180 * 24 * 3_600_000
# The last verdict of a person counts, so a verdict with a time in the future would count for ever. The clock of a
# computer is rarely fast by more than some minutes.
MAX_AHEAD_MS = 300_000
DEFAULT = "default"
# The two-sided 95 % quantile of the normal distribution.
_Z = 1.959963984540054


def is_ahead(at_ms: int, appended_ms: int | None) -> bool:
    """Return whether a verdict is from the future: later than Kafka's time of its record by more than MAX_AHEAD_MS.

    Both times are in ms since the epoch; without a time of the record (None) a verdict is not from the future.
    """
    return appended_ms is not None and at_ms > appended_ms + MAX_AHEAD_MS


class JobClass(NamedTuple):
    """The jobs whose findings are judged together: those of one team in one cluster and tenant."""

    cluster: str
    tenant: str
    team: str

    @classmethod
    def of(cls, cluster: str | None, tenant: str | None, team: str | None) -> JobClass:
        """Return the class of a job; an absent cluster or tenant is the default one."""
        return cls(cluster or DEFAULT, tenant or DEFAULT, team or "")

    def __str__(self) -> str:
        return f"team {self.team}" if self.team else f"tenant {self.tenant}"


class Verdict(NamedTuple):
    """One person's verdict on one finding; ``at_ms`` is in ms since the epoch."""

    finding_id: str
    person: str
    verdict: str
    at_ms: int
    rule: str
    job_class: JobClass


@dataclass(frozen=True)
class Precision:
    """How many judged findings of a rule in a job class were useful, with the bounds of a 95 % interval."""

    useful: int
    judged: int

    @property
    def lower(self) -> float:
        """The lower bound of the precision, between 0 and 1."""
        return max(0.0, self._centre - self._half_width)

    @property
    def upper(self) -> float:
        """The upper bound of the precision, between 0 and 1."""
        return min(1.0, self._centre + self._half_width)

    def demotes(self, target: float) -> bool:
        """Return whether the precision is below ``target`` even at its upper bound."""
        return self.upper < target

    @property
    def _centre(self) -> float:
        return (self.useful + _Z**2 / 2) / (self.judged + _Z**2)

    @property
    def _half_width(self) -> float:
        spread = self.useful * (self.judged - self.useful) / self.judged if self.judged else 0.0
        return _Z * math.sqrt(spread + _Z**2 / 4) / (self.judged + _Z**2)


Precisions = Mapping[tuple[str, JobClass], Precision]


def precisions(verdicts: Iterable[Verdict], now_ms: int) -> Precisions:
    """Return the precision of each rule in each job class that has verdicts.

    The last verdict of a person on a finding counts, and each finding counts once, however often it is judged: it was
    useful if one person says so. Verdicts that are older than VERDICT_LIFE_MS, or unknown, do not count. The order of
    the verdicts does not matter.
    """
    last: dict[tuple[str, str], Verdict] = {}
    for each in verdicts:
        before = last.get((each.finding_id, each.person))
        if each.verdict in VERDICTS and (before is None or (before.at_ms, before.verdict) < (each.at_ms, each.verdict)):
            last[each.finding_id, each.person] = each
    findings: dict[tuple[str, JobClass], dict[str, bool]] = {}
    for each in last.values():
        if now_ms - each.at_ms < VERDICT_LIFE_MS:
            judged = findings.setdefault((each.rule, each.job_class), {})
            judged[each.finding_id] = judged.get(each.finding_id, False) or each.verdict != NOT_USEFUL
    return {of: Precision(sum(judged.values()), len(judged)) for of, judged in findings.items()}


def demotion(found: Precisions, rule: str, job_class: JobClass, target: float | None) -> str:
    """Return why notifications of the rule in the job class are demoted to info; empty if they are not.

    ``target`` is the target in the finding, by default DEFAULT_TARGET; with 0 a rule is never demoted.
    """
    precision = found.get((rule, job_class))
    wanted = DEFAULT_TARGET if target is None else target
    if precision is None or not precision.demotes(wanted):
        return ""
    return (
        f"Demoted to info: {precision.useful} of {precision.judged} judged findings of {rule} in {job_class}"
        f" were useful (at most {precision.upper:.0%}, target {wanted:.0%})."
    )
