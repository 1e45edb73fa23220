"""The fuses of all runs and the used budgets, rebuilt from the audit log so that a restart loses nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, State, Times, advance, blow
from sparkfuse_native_analytics.fuse_controller.rule_match import Run
from sparkfuse_native_analytics.fuse_controller.safeguards import HOUR_MS, Budget

CONTROLLER = "controller"
WOULD_ACT = "would_act"
# Keys of Action.observed that the registry needs to rebuild itself from the topic.
JOB_KEY, GENERATION = "job_key", "generation"
SHADOW = "shadow"
# Fuses that did not change for this long belong to runs that ended, and are removed.
FORGET_MS = 2 * HOUR_MS


@dataclass(frozen=True)
class ActRecord:
    """One act, or one that shadow mode would have performed. The two kinds have separate budgets."""

    at_ms: int
    shadow: bool
    job_key: str
    tenant: str


class FuseRegistry:
    """The acts of the last hour, and the fuse of each run and rule."""

    def __init__(self) -> None:
        self._acts: dict[str, ActRecord] = {}
        self._fuses: dict[tuple[Run, str], Fuse] = {}
        self._generations: dict[str, int] = {}

    def record(self, action: Action) -> None:
        """Add an action of the audit log, written by this or an earlier controller. Adding it twice has no effect.

        An act counts from its ``would_act`` record: after a crash it is unknown whether the signal was sent, and a
        budget must not be spent twice.
        """
        if action.actor != CONTROLLER or action.outcome != WOULD_ACT or action.action_id in self._acts:
            return
        observed = dict(action.observed)
        self._acts[action.action_id] = ActRecord(
            action.at_ms, action.mode == SHADOW, observed.get(JOB_KEY, ""), observed.get("tenant", "")
        )
        key = (Run(action.cluster, action.app_id, action.app_attempt, action.app_start_ms), action.rule)
        self._fuses[key] = blow(self._fuses.get(key, Fuse()), action.at_ms)
        generation = observed.get(GENERATION, "0")
        if generation.isdecimal():
            self._generations[action.app_id] = max(self._generations.get(action.app_id, 0), int(generation))

    def next_generation(self, app_id: str, now_ms: int) -> int:
        """Return a number above all earlier ones of the application; it is a time in ms, so it survives restarts."""
        return max(now_ms, self._generations.get(app_id, 0) + 1)

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
        self._acts = {key: act for key, act in self._acts.items() if now_ms - act.at_ms < HOUR_MS}

    def open_runs(self) -> set[Run]:
        """Runs with an open fuse."""
        return {run for (run, _), fuse in self._fuses.items() if fuse.state is State.OPEN}

    def over_budget(self, job_key: str, tenant: str, shadow: bool, now_ms: int, budget: Budget) -> str | None:
        """Name the exhausted budget in one sentence; None if one more act fits into this hour."""
        spent = [each for each in self._acts.values() if each.shadow == shadow and now_ms - each.at_ms < HOUR_MS]
        used = {
            "job_per_hour": sum(act.job_key == job_key for act in spent),
            "tenant_per_hour": sum(act.tenant == tenant for act in spent),
            "global_per_hour": len(spent),
        }
        for name, count in used.items():
            if count >= getattr(budget, name):
                return f"the budget {name} of {getattr(budget, name)} is exhausted"
        return None
