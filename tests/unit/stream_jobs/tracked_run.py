"""A run whose rows go through the lifecycle of findings, with timers in the order of event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, Timer
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState, InMemoryValueState
from tests.unit.stream_jobs.detect_rows import Run

T, W = 1_795_226_400_000, 5_000
HOLDS = {"stuck": "warning"}
QUIET: dict[str, str] = {}


@dataclass(frozen=True)
class Times:
    view: str = "task_live"
    for_ms: int = 0
    keep_firing_ms: int = 0
    absence: bool = False


def write(rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
    run = FindingRun(run_key=row.run_key, state="firing", severity=severity, started_ms=started_ms)
    return Finding(rule=rule_id, state="firing", severity=severity, evidence_ms=row.window_end_ms, runs=[run])


class TrackedRun:
    """Runs a lifecycle of findings with its state; timers fire in the order of event time."""

    def __init__(self, times: Times, run: Run | None = None, post_end_rules: Iterable[str] = ()) -> None:
        self.run = run or Run("app-1", T)
        self.state = LifecycleState(
            InMemoryValueState(), InMemoryValueState(), InMemoryMapState(), InMemoryValueState()
        )
        self.lifecycle = Lifecycle(RuleEvaluation({"stuck": times, "skew": times}, W, write), frozenset(post_end_rules))
        self.timers: set[int] = set()
        self.timers_set = 0
        self.emitted: list[tuple[int, str, str]] = []

    def row(self, row: LiveRow, severities: Mapping[str, str]) -> None:
        self._until(row.window_end_ms - 1)
        self._collect(row.window_end_ms, self.lifecycle.step(row, severities, self.state))

    def task(self, window: int, severities: Mapping[str, str], task_id: int = 77) -> None:
        self.row(self.run.task(T + window * W, 60_000, task_id), severities)

    def idle_until(self, window: int) -> None:
        self._until(T + window * W)

    def _until(self, now_ms: int) -> None:
        while due := sorted(at for at in self.timers if at <= now_ms):
            self.timers -= {due[0]}
            self._collect(due[0], self.lifecycle.on_timer(due[0], self.state))

    def _collect(self, now_ms: int, found: Iterable[Finding | Timer]) -> None:
        for each in found:
            if isinstance(each, Timer):
                self.timers.add(each.at_ms)
                self.timers_set += 1
            else:
                self.emitted.append(((now_ms - T) // W, each.rule, each.state))
