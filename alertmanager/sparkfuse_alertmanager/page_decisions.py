"""Decide which critical findings page: at most a number per team and day, in the order of the topic ``pages``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.page_pb2 import Page

DAY_MS = 24 * 3_600_000
# The retention of the topic ``pages``: after this time a finding that still fires is decided again.
KEPT_MS = 8 * DAY_MS
DEFAULT_TENANT = "default"
# The owner of the job has asked for these pages by setting a deadline, and there is at most one for each such job.
EXEMPT_RULES = frozenset({"deadline_at_risk"})


class Team(NamedTuple):
    """Who is paged: a team of a tenant; if the job has no team, all jobs of the tenant without one."""

    tenant: str
    team: str

    def __str__(self) -> str:
        return f"team {self.team}" if self.team else f"tenant {self.tenant}"


def team_of(found: Finding | Page) -> Team:
    """Return the team of a finding or of a page."""
    return Team(found.tenant or DEFAULT_TENANT, found.team)


class Held(NamedTuple):
    """One finding that did not page; ``at_ms`` is the broker's time in ms since the epoch."""

    rule: str
    job_key: str
    at_ms: int


class PageDecisions:
    """The pages of the last days. The same records in the same order give the same decisions, in every sender.

    A finding that fires again after it resolved is another page. A record about a finding that was decided before is
    ignored, so a batch that is sent twice uses the budget once. With ``limit`` 0 nothing is held back.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pages: dict[tuple[str, int], tuple[bool, int]] = {}
        self._paged: dict[tuple[Team, int], int] = {}
        self._held: dict[tuple[Team, int], list[Held]] = {}
        self._day = 0

    def add(self, page: Page, appended_ms: int) -> None:
        """Add the next record of the topic, with the broker's time in ms since the epoch."""
        key, of_day = (page.finding_id, page.started_ms), (team_of(page), appended_ms // DAY_MS)
        self._forget(appended_ms)
        if key in self._pages:
            return
        pages = not self._limit or self._paged.get(of_day, 0) < self._limit
        self._pages[key] = (pages, appended_ms)
        if pages:
            self._paged[of_day] = self._paged.get(of_day, 0) + 1
        else:
            self._held.setdefault(of_day, []).append(Held(page.rule, page.job_key, appended_ms))

    def decision(self, finding: Finding) -> bool | None:
        """Return whether the finding pages; None if that is not decided yet."""
        known = self._pages.get((finding.finding_id, finding.started_ms))
        return None if known is None else known[0]

    def reason(self, finding: Finding) -> str:
        """Return why a finding that was held back does not page; empty for other findings."""
        known = self._pages.get((finding.finding_id, finding.started_ms))
        if known is None or known[0]:
            return ""
        return f"Held back: {self._limit} pages of {team_of(finding)} on this day (UTC), which is the limit."

    def held(self, team: Team, now_ms: int) -> Sequence[Held]:
        """Return the findings of a team that were held back on the day of ``now_ms``, oldest first."""
        return tuple(self._held.get((team, now_ms // DAY_MS), ()))

    def _forget(self, now_ms: int) -> None:
        if self._day == now_ms // DAY_MS:
            return
        self._day = now_ms // DAY_MS
        self._pages = {key: value for key, value in self._pages.items() if now_ms - value[1] < KEPT_MS}
        self._paged = {key: value for key, value in self._paged.items() if key[1] >= self._day - 1}
        self._held = {key: value for key, value in self._held.items() if key[1] >= self._day - 1}


def claims(findings: Iterable[Finding], decisions: PageDecisions) -> list[Page]:
    """Return a record for each firing finding that is not decided yet, the most expensive findings first."""
    new = [each for each in findings if each.state == "firing" and decisions.decision(each) is None]
    return [_page(each) for each in sorted(new, key=_rank)]


def _rank(finding: Finding) -> tuple[float, float, int, str]:
    """Return the order of findings that compete for pages: avoidable cost, cost so far, then the oldest."""
    avoidable = sum(run.cost_avoidable for run in _applications(finding).values())
    cost = sum(run.cost for run in _applications(finding).values())
    return -avoidable, -cost, finding.started_ms, finding.finding_id


def _applications(finding: Finding) -> Mapping[tuple[str, int], FindingRun]:
    """Return one firing run for each application, because its runs share the cost of the application."""
    return {(run.app_id, run.app_attempt): run for run in finding.runs if run.state == "firing"}


def _page(finding: Finding) -> Page:
    page = Page(finding_id=finding.finding_id, started_ms=finding.started_ms, rule=finding.rule)
    for name in ("job_key", "tenant", "team"):
        if value := getattr(finding, name):
            setattr(page, name, value)
    return page
