"""The parts of the simulated world: topics, running stages, and the view of them that the controller has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from google.protobuf.message import Message

from sparkfuse_contracts.wire import from_json
from sparkfuse_native_analytics.fuse_controller.scope import Run, Scope
from sparkfuse_native_analytics.fuse_controller.view import RuleMatch, RunningWork
from sparkfuse_rules.rule import Rule
from tests.unit.fuse_controller.scene import RULE

Kind = TypeVar("Kind", bound=Message)
START_MS = 1_795_226_400_000
CLUSTER = "prod"
SPILLED = 10**12
# The second policy: a task that hangs, and its counters while it hangs.
STUCK, TASK = "task_stuck", 40
ACTIONS = {RULE: "cancel_stage", STUCK: "kill_task"}
HANGING = {"task_stalled_ms": 900_000, "task_stalled_ratio": 90, "task_idle": 1, "task_cpu_percent": 0,
           "succeeded_tasks": 9, "pending_tasks": 0, "moving_tasks": 0, "task_age_ms": 900_000}  # fmt: skip


@dataclass
class Entry:
    """One record of a topic. Its message is parsed at most once, because every controller reads it."""

    key: str
    content: bytes
    appended_ms: int
    parsed: Message | None = None

    def message(self, kind: type[Kind]) -> Kind:
        """Return the message, which no reader may change."""
        if self.parsed is None:
            self.parsed = from_json(kind, self.content)
        assert isinstance(self.parsed, kind)
        return self.parsed


@dataclass
class Kafka:
    """The topics, and the only controller that may write transactions."""

    now_ms: int = START_MS
    topics: dict[str, list[Entry]] = field(default_factory=dict)
    owner: object = None

    def append(self, topic: str, key: str, content: bytes, message: Message | None = None) -> None:
        """Append one record with the broker's time, and with its parsed message if that is known."""
        self.topics.setdefault(topic, []).append(Entry(key, content, self.now_ms, message))

    def of(self, topic: str) -> list[Entry]:
        """Return the records of a topic."""
        return self.topics.setdefault(topic, [])


@dataclass
class Stage:
    """The truth about one stage: whether it runs, spills or has a stuck task, and how old its progress is."""

    run: Run
    running: bool = True
    spilled_bytes: int = 0
    stuck: bool = False
    progress_age_ms: int = 1_000
    dropped_events: int = 0


class View:
    """What detection reports about each stage. It replaces LiveView, whose query engine takes too long per call."""

    def __init__(self) -> None:
        self.rows: dict[Run, dict[str, Any]] = {}
        self.variants: Sequence[Any] = ()

    def use(self, variants: Sequence[Any]) -> None:
        """Replace the rules."""
        self.variants = tuple(variants)

    def evaluate(self, now_ms: int, _stated: Mapping[Scope, Mapping[str, str]]) -> Mapping[Scope, list[RuleMatch]]:
        """For each row on which a rule fires according to detection, return a match of the rule."""
        return {
            scope_of(run, rule): [RuleMatch(scope_of(run, rule), variant, "critical", row)
                                  for variant in self.variants if variant.rule.id == rule]
            for run, row in self.rows.items()
            for rule in ACTIONS
            if row[rule] and abs(now_ms - row["window_end_ms"]) <= 20_000
        }  # fmt: skip

    def running_work(self, rule: Rule, _now_ms: int, limit: int) -> list[RunningWork]:
        """Return the stage or task of each application for one of the two rules."""
        runs = list(self.rows)[:limit] if rule.id in ACTIONS else []
        return [RunningWork(scope_of(run, rule.id), 900_000, "sales") for run in runs]

    def user_of(self, _run: Run) -> str:
        """Return the same user for all applications; no user is protected here."""
        return "etl"

    def running_applications(self, _now_ms: int) -> Mapping[str, int]:
        """Return the number of applications."""
        return {CLUSTER: 100}


def scope_of(run: Run, rule: str) -> Scope:
    """Return the scope of a rule about the only stage of a run, or about its task."""
    return Scope(run, rule, 3, 0, TASK if rule == STUCK else None)
