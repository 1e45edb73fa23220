"""Sums three costs of a policy from the audit log: spent before acts, avoided by acts, and missed by probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_native_analytics.fuse_controller.act_registry import ACT_MODE, ENDED, SENT, VERIFIED, WOULD_ACT
from sparkfuse_native_analytics.fuse_controller.probes import TRUE_POSITIVE
from sparkfuse_rules.knowledge.money import cost_avoided


@dataclass(frozen=True)
class RuleCosts:
    """The costs of one policy in ``currency``; a sum is None if none of its records has a known cost.

    ``cost`` is what the runs had cost when the fuse acted on them. ``cost_avoided`` is the estimated cost of the rest
    of these runs, for acts that ended the work; ``acts_with_cost_avoided`` is the number of acts in this sum.
    ``cost_missed`` is the cost of runs from a probe with the answer "would act" until the failure of the probed stage.
    """

    currency: str | None = None
    cost: float | None = None
    cost_avoided: float | None = None
    acts_with_cost_avoided: int = 0
    cost_missed: float | None = None


def costs_of(records: Sequence[AuditRecord], rule: str, policy_hash: str) -> RuleCosts:
    """Return the costs of one policy. If the costs are in several currencies, all sums are unknown."""
    of_rule = [record for record in records if record.rule == rule]
    currencies = {record.currency for record in of_rule if record.currency}
    if len(currencies) != 1:
        return RuleCosts()
    acts = {each.signal_id: each for each in of_rule
            if (each.step, each.mode, each.policy_hash) == (SENT, ACT_MODE, policy_hash)}  # fmt: skip
    latest = {(each.app_id, each.app_attempt, each.app_start_ms): each.cost
              for each in acts.values() if each.HasField("cost")}  # fmt: skip
    # A later receipt can change an outcome, so the last record of each signal counts.
    verified = {each.signal_id: each for each in of_rule if each.step == VERIFIED}
    avoided = [each.cost_avoided for each in verified.values()
               if each.outcome == ENDED and each.signal_id in acts
               and each.HasField("cost_avoided")]  # fmt: skip
    return RuleCosts(
        currency=currencies.pop(),
        cost=_sum(latest.values()),
        cost_avoided=_sum(avoided),
        acts_with_cost_avoided=len(avoided),
        cost_missed=_sum(_missed(of_rule, policy_hash)),
    )


def _missed(records: Sequence[AuditRecord], policy_hash: str) -> list[float]:
    """Return, for each failed stage, the run's cost from the probe to the stage's end, at its average cost per ms."""
    asked = {record.signal_id: record for record in records if record.step == WOULD_ACT and record.HasField("cost")}
    found = []
    for record in records:
        before, after_ms = asked.get(record.signal_id), record.observed.get("ended_after_ms")
        if (record.outcome, record.policy_hash) == (TRUE_POSITIVE, policy_hash) and before and after_ms:
            found.append(cost_avoided(before.cost, before.at_ms - before.app_start_ms, int(after_ms)))
    return [each for each in found if each is not None]


def _sum(amounts: Iterable[float]) -> float | None:
    known = list(amounts)
    return sum(known) if known else None
