"""Reads people's verdicts on findings, and computes the precision of rules and the demotion of findings from them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.finding_rows import Finding
from sparkfuse_native_analytics.queries.select import names, select
from sparkfuse_rules.knowledge.precision import (
    VERDICT_LIFE_MS,
    JobClass,
    Precisions,
    Verdict,
    demotion,
    precisions,
)


@dataclass(frozen=True)
class Feedback:
    """The last verdict of one person on one finding; ``at_ms`` is in ms since the epoch."""

    finding_id: str
    person: str
    verdict: str | None
    note: str | None
    at_ms: int
    rule: str | None
    job_key: str | None
    cluster: str | None
    tenant: str | None
    team: str | None


_FEEDBACK = f"""
SELECT {names(Feedback)} FROM feedback FINAL
WHERE ({{finding_id:String}} = '' OR finding_id = {{finding_id:String}})
  AND ({{rule:String}} = '' OR rule = {{rule:String}}) AND at_ms >= {{since_ms:Int64}}
ORDER BY at_ms DESC, finding_id, person
LIMIT {{limit:UInt32}}
"""
_MOST = 1_000_000


def feedback(
    client: Client, limit: int = 50, *, finding_id: str | None = None, rule: str | None = None, since_ms: int = 0
) -> list[Feedback]:
    """Return verdicts, newest first; optionally only those on one finding, of one rule, or from ``since_ms`` on.

    Raises StoreEmptyError.
    """
    values = {"finding_id": finding_id or "", "rule": rule or "", "since_ms": since_ms, "limit": limit}
    return select(client, Feedback, _FEEDBACK, values)


def rule_precisions(client: Client, *, rule: str | None = None) -> Precisions:
    """Return the precision of each rule in each job class, optionally only of one rule.

    Raises StoreEmptyError.
    """
    now_ms = time.time_ns() // 1_000_000
    found = feedback(client, _MOST, rule=rule, since_ms=now_ms - VERDICT_LIFE_MS)
    return precisions((_verdict(each) for each in found), now_ms)


def demotion_of(client: Client, finding: Finding) -> str:
    """Return why the notifications of a finding are demoted to info; empty if they are not.

    Raises StoreEmptyError.
    """
    job_class = JobClass.of(finding.cluster, finding.tenant, finding.team)
    found = rule_precisions(client, rule=finding.rule)
    return demotion(found, finding.rule or "", job_class, finding.precision_target)


def _verdict(row: Feedback) -> Verdict:
    job_class = JobClass.of(row.cluster, row.tenant, row.team)
    return Verdict(row.finding_id, row.person, row.verdict or "", row.at_ms, row.rule or "", job_class)
