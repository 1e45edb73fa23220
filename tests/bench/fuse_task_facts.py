"""Reads from facts when a rule of the fuse bench began to match a task, and when the task ended."""

from __future__ import annotations

import time
from collections import defaultdict

from sparkfuse_contracts.generated.fact_pb2 import Fact
from tests.integration.collectors.spark_runs import TopicReader

PREFIX = "sparkfuse"
# Frequent reads would take CPU time from what is measured.
POLL_SECONDS = 0.5


class TaskFacts:
    """The samples and ends of tasks, and the ends of applications, that arrived in Kafka."""

    def __init__(self, bootstrap: str, stalled_ms: int, tasks: int) -> None:
        """Read from the beginning; rules match after a stall of ``stalled_ms``; an application has ``tasks`` tasks."""
        self._reader = TopicReader(bootstrap, f"{PREFIX}.facts")
        self._stalled_ms, self._tasks, self._seen = stalled_ms, tasks, 0
        self._sampled_ms: dict[str, dict[int, int]] = defaultdict(dict)
        self._stopped_ms: dict[str, list[int]] = defaultdict(list)

    def stopped(self, app_id: str, wanted: int) -> list[int] | None:
        """Return the times [ms] at which an application's tasks were stopped; None if fewer than ``wanted`` were."""
        time.sleep(POLL_SECONDS)
        values = self._reader.read()
        for fact in map(Fact.FromString, values[self._seen :]):
            if fact.HasField("task_progress"):
                self._sampled(fact)
            elif fact.HasField("task_ended") and fact.task_ended.outcome != "success":
                self._stopped_ms[fact.app_id].append(fact.task_ended.finished_ms)
            elif fact.HasField("application_ended"):  # a context that stops does not wait for the ends of its tasks
                self._stopped_ms[fact.app_id] += [fact.application_ended.ended_ms] * self._tasks
        self._seen = len(values)
        found = sorted(self._stopped_ms[app_id])
        return found if len(found) >= wanted else None

    def _sampled(self, fact: Fact) -> None:
        """Store the time of the sample from which on the rule has matched the task without interruption."""
        samples, task = self._sampled_ms[fact.app_id], fact.task_progress.task_id
        if fact.task_progress.stalled_ms < self._stalled_ms:
            samples.pop(task, None)
        else:
            samples.setdefault(task, fact.event_time_ms)

    def sampled_ms(self, app_id: str) -> int:
        """Return the time [ms] of the first sample from which on the rule matched a task of the application."""
        return min(self._sampled_ms[app_id].values())

    def close(self) -> None:
        """Close the consumer."""
        self._reader.close()
