"""The digest of a team: what its jobs cost and waste, what applied advice gained, and which findings stay open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.advice.advice_outcomes import VERIFIED, AdviceOutcome
from sparkfuse_native_analytics.queries.costs import JOB, CostRow, costs
from sparkfuse_native_analytics.queries.finding_rows import (
    Finding,
    FindingFilter,
    count_findings,
    severest_findings,
)
from sparkfuse_native_analytics.queries.job_advice_outcomes import job_outcomes
from sparkfuse_rules.prices import Prices

MAX_JOBS = 20
"""The jobs whose advice is followed: those with the largest waste, because each needs its own query."""
SHOWN_JOBS = 5
MAX_FINDINGS = 200


@dataclass(frozen=True)
class JobSaving:
    """Advice for a job that was applied; its state, effect and saving are in ``outcome``."""

    job_key: str
    outcome: AdviceOutcome


@dataclass(frozen=True)
class TeamDigest:
    """A team since ``since_ms`` (ms since the epoch); money is in ``currency``, None if prices are off.

    ``total`` has the costs of all its ended runs of the period, and ``jobs`` those of the five jobs with the largest
    waste. ``applied`` is the advice that was applied, for the twenty jobs with the largest waste and in the last 90
    days, because its effect is measured later; ``saved_cost`` is the sum of the verified savings, None if none has a
    known price. ``firing_findings`` is the number of all firing findings, and ``chronic`` are those of the 200 most
    severe ones that started before the period.
    """

    team: str
    since_ms: int
    currency: str | None
    prices: str | None
    total: CostRow
    jobs: list[CostRow]
    applied: list[JobSaving]
    saved_cost: float | None
    firing_findings: int
    chronic: list[Finding]


def verified_saving(applied: Sequence[JobSaving]) -> float | None:
    """Return the sum of the verified savings, None if none has a known price.

    Advice that the same run applied has one saving.
    """
    saved = {
        (each.job_key, each.outcome.applied_app_id): each.outcome.saved_cost
        for each in applied
        if each.outcome.state == VERIFIED and each.outcome.saved_cost is not None
    }
    return sum(saved.values()) if saved else None


def team_digest(client: Client, team: str, prices: Prices | None, since_ms: int, now_ms: int) -> TeamDigest:
    """Return the digest of a team; a team without runs and findings has an empty one. Raises StoreEmptyError."""
    found = costs(client, prices, JOB, since_ms, team=team, limit=MAX_JOBS)
    applied = [
        JobSaving(each.name, outcome)
        for each in found.rows
        for known in [job_outcomes(client, each.name, prices, now_ms, proposals=False)]
        for outcome in (known.entries if known else ())
    ]
    firing = FindingFilter(state="firing", team=team)
    severest = severest_findings(client, firing, MAX_FINDINGS)
    return TeamDigest(
        team=team,
        since_ms=since_ms,
        currency=found.currency,
        prices=found.prices,
        total=found.total,
        jobs=found.rows[:SHOWN_JOBS],
        applied=applied,
        saved_cost=verified_saving(applied),
        chronic=[each for each in severest if each.started_ms is not None and each.started_ms < since_ms],
        firing_findings=sum(each.findings for each in count_findings(client, firing)),
    )
