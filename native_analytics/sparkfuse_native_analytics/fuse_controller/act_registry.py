"""The acts of the fuse in the last two hours, rebuilt from the audit log, so that no act is forgotten at a restart.

Only audit records count towards budgets; receipts do not, because jobs write them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, State, Times, advance, ask, blow, refuse, settle
from sparkfuse_native_analytics.fuse_controller.safeguards import HOUR_MS, Budget
from sparkfuse_native_analytics.fuse_controller.scope import Run, Scope
from sparkfuse_rules.rule import EXTERNAL_STOP

SENT, WOULD_ACT, VERIFIED, RECHECKED = "sent", "would_act", "verified", "rechecked"
ENDED, UNFREED, REFUSED, UNKNOWN = "ended", "unfreed", "refused", "unknown"
ACT_MODE, WARN_MODE, SHADOW_MODE, OFF_MODE = "act", "warn", "shadow", "off"
# For this long after an act, an application counts as affected by the fuse. A limit applies to the share of affected
# applications.
BIG_PICTURE_MS = 15 * 60_000
# A fuse that has not changed for this long belongs to a run that has ended, so it is removed.
FORGET_MS = 2 * HOUR_MS
# What a verified record observed if the receipts of its signal contradict each other: some are lost or forged.
RECEIPTS, CONTRADICTORY = "receipts", "contradictory"
_EVIDENCE = "window_end_ms"
# The digits of the largest number of 64 bits; Python refuses to read a number with thousands of digits.
MAX_DIGITS = 19


@dataclass(frozen=True)
class Act:
    """One act, or the record of an act that was not carried out because the mode is below ``act``.

    ``at_ms`` is the broker's time. ``outcome`` is empty until the outcome is verified. ``contested``: the receipts
    contradict each other.
    """

    signal_id: str
    at_ms: int
    mode: str
    action: str
    run: Run
    rule: str
    job_key: str
    tenant: str
    team: str
    stage: tuple[int, int] | None = None
    outcome: str = ""
    cost_avoided: float | None = None
    currency: str = ""
    query_id: int | None = None
    task_id: int | None = None
    contested: bool = False

    def is_on(self, scope: Scope) -> bool:
        """Return whether the act was for the rule and target of ``scope``; its action may have been wider."""
        return (
            (self.run, self.rule) == (scope.run, scope.rule)
            and (scope.stage is None or self.stage == scope.stage)
            and (scope.task_id is None or self.task_id == scope.task_id)
            and (scope.query_id is None or self.query_id == scope.query_id)
        )


class ActRegistry:
    """The acts of the last two hours, and the fuse of each run and rule. All times are the broker's."""

    def __init__(self) -> None:
        self._acts: dict[str, Act] = {}
        self._fuses: dict[tuple[Run, str], Fuse] = {}
        self._last: dict[tuple[Run, str], str] = {}

    def record(self, record: AuditRecord, appended_ms: int | None = None) -> None:
        """Add a record of the audit log. Adding a record twice has no effect.

        ``appended_ms`` is the broker's time of the record; without it, the time that the record contains is used.
        """
        at_ms = record.at_ms if appended_ms is None else appended_ms
        if record.step == VERIFIED:
            self._verify(record, at_ms)
        if record.step == RECHECKED:
            key = (_run(record), record.rule)
            self._fuses[key] = ask(self._fuses.get(key, Fuse()), at_ms, _evidence_ms(record))
        # The audit record of a control sample has the step "probed", so it is not added as an act.
        act_id = record.signal_id or f"record-{record.sequence}"
        if record.step not in (SENT, WOULD_ACT) or act_id in self._acts:
            return
        act = _act(act_id, record, at_ms)
        self._acts[act_id] = act
        key = (act.run, act.rule)
        self._last[key] = act_id
        self._fuses[key] = blow(self._fuses.get(key, Fuse()), act.at_ms, _evidence_ms(record))

    def _verify(self, record: AuditRecord, at_ms: int) -> None:
        """Set the outcome of an act; the outcome of the last act of a fuse also changes the fuse."""
        act = self._acts.get(record.signal_id)
        if act is None:
            return
        contested = record.observed.get(RECEIPTS) == CONTRADICTORY
        self._acts[act.signal_id] = replace(act, outcome=record.outcome, contested=contested)
        key = (act.run, act.rule)
        if key not in self._fuses or self._last.get(key) != act.signal_id:
            return
        if record.outcome != REFUSED or contested:
            self._fuses[key] = settle(self._fuses[key], act.at_ms)
        elif act.outcome != REFUSED:
            self._fuses[key] = refuse(self._fuses[key], at_ms)

    def advance(self, run: Run, rule: str, matches: bool, now_ms: int, times: Times) -> Fuse:
        """Advance the fuse of a run and rule to ``now_ms`` and return it."""
        fuse = advance(self._fuses.get((run, rule), Fuse()), matches, now_ms, times)
        if fuse != Fuse():
            self._fuses[(run, rule)] = fuse
        return fuse

    def advance_others(self, matching: set[tuple[Run, str]], now_ms: int, times: Times) -> None:
        """Advance all fuses whose rule does not match now, and remove expired fuses and acts."""
        for run, rule in self._fuses.keys() - matching:
            self.advance(run, rule, False, now_ms, times)
        self._fuses = {key: fuse for key, fuse in self._fuses.items() if now_ms - fuse.since_ms < FORGET_MS}
        self._acts = {key: act for key, act in self._acts.items() if now_ms - act.at_ms < FORGET_MS}
        self._last = {key: act_id for key, act_id in self._last.items() if act_id in self._acts}

    def of_target(self, scope: Scope, mode: str) -> list[Act]:
        """Return the acts of one rule on one target in one mode, oldest first."""
        acts = (act for act in self._acts.values() if act.mode == mode and act.is_on(scope))
        return sorted(acts, key=lambda act: act.at_ms)

    def unverified(self) -> list[Act]:
        """Return the acts of mode ``act`` whose outcome is not verified yet."""
        return [act for act in self._acts.values() if act.mode == ACT_MODE and not act.outcome]

    def unconfirmed(self) -> list[Act]:
        """Return the acts whose outcome no row shows, so that a later receipt can still change it."""
        acts = (act for act in self._acts.values() if act.mode == ACT_MODE and act.outcome)
        final = ((UNFREED, True), (ENDED, True), (ENDED, False))
        return [act for act in acts if (act.outcome, act.contested) not in final or act.action == EXTERNAL_STOP]

    def acts(self) -> Iterable[Act]:
        """Return all acts that are kept."""
        return self._acts.values()

    def affected(self, cluster: str, now_ms: int) -> set[Run]:
        """Return the runs of a cluster on which the fuse acted, or would have acted, in the last 15 minutes."""
        return {
            act.run
            for act in self._acts.values()
            if act.run.cluster == cluster and now_ms - act.at_ms < BIG_PICTURE_MS and act.mode != WARN_MODE
        }

    def open_runs(self) -> set[Run]:
        """Return the runs with an open fuse."""
        return {run for (run, _), fuse in self._fuses.items() if fuse.state is State.OPEN}

    def over_budget(self, act: Act, now_ms: int, budget: Budget) -> str | None:
        """Return a sentence that names an exhausted budget; None if no budget is exhausted.

        The acts of each mode are counted separately.
        """
        spent = [each for each in self._acts.values() if each.mode == act.mode and now_ms - each.at_ms < HOUR_MS]
        used = {
            "job_per_hour": sum(each.job_key == act.job_key for each in spent),
            "tenant_per_hour": sum(each.tenant == act.tenant for each in spent),
            "team_per_hour": sum(each.team == act.team for each in spent) if act.team else 0,
            "rule_per_hour": sum(each.rule == act.rule for each in spent),
            "global_per_hour": len(spent),
        }
        for name, count in used.items():
            if count >= getattr(budget, name):
                return f"the budget {name} of {getattr(budget, name)} is exhausted"
        return None


def _run(record: AuditRecord) -> Run:
    return Run(record.cluster, record.app_id, record.app_attempt, record.app_start_ms)


def _evidence_ms(record: AuditRecord) -> int:
    """Return the end of the window of the row on which a step was based; 0 if the record does not contain it."""
    text = record.observed.get(_EVIDENCE, "")
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else 0


def _act(act_id: str, record: AuditRecord, at_ms: int) -> Act:
    return Act(
        signal_id=act_id,
        at_ms=at_ms,
        mode=record.mode,
        action=record.action,
        run=_run(record),
        rule=record.rule,
        job_key=record.job_key,
        tenant=record.tenant,
        team=record.team,
        stage=(record.stage_id, record.stage_attempt) if record.HasField("stage_id") else None,
        cost_avoided=record.cost_avoided if record.HasField("cost_avoided") else None,
        currency=record.currency,
        query_id=record.query_id if record.HasField("query_id") else None,
        task_id=record.task_id if record.HasField("task_id") else None,
    )
