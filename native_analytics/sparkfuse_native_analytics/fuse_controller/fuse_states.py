"""What the fuse has done: fuses and budgets, made anew from the audit, so that a restart forgets nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, State, Times, blow, look
from sparkfuse_native_analytics.fuse_controller.policy import HOUR_MS, Budget
from sparkfuse_native_analytics.fuse_controller.verdict import Run

CONTROLLER = "controller"
WOULD_ACT = "would_act"
# What an action carries beside the contract's fields, so that the states can be read back from the topic.
JOB_KEY, GENERATION = "job_key", "generation"
SHADOW = "shadow"
# Fuses of runs that ended are let go after this time without a look.
FORGET_MS = 2 * HOUR_MS


@dataclass(frozen=True)
class Entry:
    """One act, or one that the shadow would have done; budgets of the two are apart."""

    at_ms: int
    shadow: bool
    job_key: str
    tenant: str


class FuseStates:
    """Entries of the last hour, and the fuse of every run and rule."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._fuses: dict[tuple[Run, str], Fuse] = {}
        self._generations: dict[str, int] = {}

    def record(self, action: Action) -> None:
        """Take an action of the audit, ours or an earlier controller's; the same one twice changes nothing.

        An act counts from the step before it, ``would_act``: whether the signal left before a crash is unknown, and
        a budget must not be spent twice.
        """
        if action.actor != CONTROLLER or action.outcome != WOULD_ACT or action.action_id in self._entries:
            return
        observed = dict(action.observed)
        self._entries[action.action_id] = Entry(
            action.at_ms, action.mode == SHADOW, observed.get(JOB_KEY, ""), observed.get("tenant", "")
        )
        key = (Run(action.cluster, action.app_id, action.app_attempt, action.app_start_ms), action.rule)
        self._fuses[key] = blow(self._fuses.get(key, Fuse()), action.at_ms)
        generation = observed.get(GENERATION, "0")
        if generation.isdecimal():
            self._generations[action.app_id] = max(self._generations.get(action.app_id, 0), int(generation))

    def next_generation(self, app_id: str, now_ms: int) -> int:
        """A number above all that were given for the application: milliseconds, so that it rises over restarts too."""
        return max(now_ms, self._generations.get(app_id, 0) + 1)

    def look(self, run: Run, rule: str, condemned: bool, now_ms: int, times: Times) -> Fuse:
        """The fuse of a run and rule, after a look at the evidence."""
        fuse = look(self._fuses.get((run, rule), Fuse()), condemned, now_ms, times)
        if fuse != Fuse():
            self._fuses[(run, rule)] = fuse
        return fuse

    def rest(self, condemned: set[tuple[Run, str]], now_ms: int, times: Times) -> None:
        """Let time pass for all that are not condemned now, and forget what is long over."""
        for run, rule in self._fuses.keys() - condemned:
            self.look(run, rule, False, now_ms, times)
        self._fuses = {key: fuse for key, fuse in self._fuses.items() if now_ms - fuse.since_ms < FORGET_MS}
        self._entries = {key: entry for key, entry in self._entries.items() if now_ms - entry.at_ms < HOUR_MS}

    def open_runs(self) -> set[Run]:
        """Runs of which a fuse is open."""
        return {run for (run, _), fuse in self._fuses.items() if fuse.state is State.OPEN}

    def over_budget(self, job_key: str, tenant: str, shadow: bool, now_ms: int, budget: Budget) -> str | None:
        """Which budget is used up, in a sentence; None when there is room for one more act in this hour."""
        spent = [e for e in self._entries.values() if e.shadow == shadow and now_ms - e.at_ms < HOUR_MS]
        used = {
            "job_per_hour": sum(entry.job_key == job_key for entry in spent),
            "tenant_per_hour": sum(entry.tenant == tenant for entry in spent),
            "global_per_hour": len(spent),
        }
        for name, count in used.items():
            if count >= getattr(budget, name):
                return f"the budget {name} of {getattr(budget, name)} is used up"
        return None
