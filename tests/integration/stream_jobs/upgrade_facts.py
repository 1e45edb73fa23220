"""The facts of one application around an upgrade of the windows job, with the times at which the broker gets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer

from sparkfuse_contracts.generated.fact_pb2 import Fact, Tick

APP_ID = "orders"
START_MS = 1_795_226_400_000  # the beginning of a window
TASKS = 6
STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}
SUMMED = ("run_ms", "gc_ms", "input_bytes", "input_records", "shuffle_write_bytes", "disk_spilled_bytes")
TimedFact = tuple[int, Fact]


def facts_before() -> list[TimedFact]:
    """Return the facts before the upgrade: two windows that are closed, and a part of the third one."""
    facts = Facts()
    facts.add(1_000, "application_started", name="orders", properties={"spark.sparkfuse.job": "orders"})
    facts.add(1_000, "executor_added", executor_id="1", host="h1", cores=4, added_ms=START_MS)
    facts.add(1_000, "job_started", job_id=7, submitted_ms=START_MS + 900, stage_ids=[3])
    facts.add(
        1_000, "stage_started", **STAGE, name="count at X", num_tasks=TASKS, submitted_ms=START_MS + 900, job_id=7
    )
    for index in range(TASKS):
        facts.add(1_000, "task_started", **STAGE, task_id=10 + index, task_index=index, launched_ms=START_MS + 1_000)
    facts.end_task(2_000, 0)
    facts.end_task(7_000, 1)
    facts.add(
        7_000, "task_progress", **STAGE, task_id=13, task_index=3, executor_id="1", host="h1", age_ms=6_000,
        cpu_ns=4_000_000, activity="busy", input_bytes=50,
    )  # fmt: skip
    # The third window is open when the job stops.
    facts.end_task(11_000, 2)
    facts.end_task(11_500, 3)
    return facts.timed


def facts_after() -> list[TimedFact]:
    """Return the facts after the upgrade: the rest of the third window, and the end of the application."""
    facts = Facts(len(facts_before()))
    facts.end_task(12_000, 4)
    facts.end_task(16_000, 5)
    facts.add(16_500, "stage_ended", **STAGE, succeeded=True, num_tasks=TASKS, completed_ms=START_MS + 16_400)
    facts.add(16_500, "job_ended", job_id=7, succeeded=True, completed_ms=START_MS + 16_400)
    facts.add(21_000, "application_ended", ended_ms=START_MS + 20_900)
    facts.timed.append((START_MS + 40_000, Fact(tick=Tick(sent_ms=START_MS + 40_000))))
    return facts.timed


def placeholders(sent: Iterable[TimedFact]) -> list[TimedFact]:
    """Return a tick in the place of each fact; a job that starts from a savepoint does not read them."""
    return [(at_ms, Fact(tick=Tick(sent_ms=at_ms))) for at_ms, _ in sent]


def sums() -> dict[str, int]:
    """Return the expected sums over all tasks, before and after the upgrade."""
    total: Counter[str] = Counter()
    for _, fact in [*facts_before(), *facts_after()]:
        if fact.HasField("task_ended"):
            total["finished_tasks"] += 1
            total.update({f"finished_{name}": getattr(fact.task_ended, name) for name in SUMMED})
    return dict(total)


class Facts:
    """Numbers the facts of one lane; ``sent`` facts were sent before."""

    def __init__(self, sent: int = 0) -> None:
        self.timed: list[TimedFact] = []
        self._sent = sent

    def add(self, after_ms: int, kind: str, /, **values: Any) -> None:
        """Add a fact that arrives ``after_ms`` after the start."""
        fact = Fact(
            event_time_ms=START_MS + after_ms, cluster="test", app_id=APP_ID, app_attempt=1, app_start_ms=START_MS,
            collector="driver-0a0a0a0a", lane="bulk", seq=self._sent + len(self.timed),
        )  # fmt: skip
        getattr(fact, kind).MergeFrom(type(getattr(fact, kind))(**values))
        self.timed.append((START_MS + after_ms, fact))

    def end_task(self, after_ms: int, index: int) -> None:
        """Add the end of a task, whose counters differ from those of all other tasks."""
        counters = {name: (index + 1) * 10 ** (place % 4) for place, name in enumerate(SUMMED)}
        self.add(
            after_ms, "task_ended", **STAGE, task_id=10 + index, task_index=index, outcome="success", executor_id="1",
            host="h1", finished_ms=START_MS + after_ms, duration_ms=1_000 + index, has_metrics=True,
            peak_execution_memory_bytes=index, **counters,
        )  # fmt: skip


def send(bootstrap: str, topic: str, facts: Iterable[TimedFact]) -> None:
    """Write facts with their times to partition 0 of a topic that keeps the times of its producers."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for at_ms, fact in facts:
        producer.produce(topic, fact.SerializeToString(), key=fact.app_id or "clock", partition=0, timestamp=at_ms)
    assert producer.flush(30) == 0
