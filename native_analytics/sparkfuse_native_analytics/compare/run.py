"""The data of a run that a comparison uses. Times are in ms since the epoch, durations in ms; all are integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Attempt:
    """One attempt of a stage.

    ``submitted_ms`` <= ``launched_ms`` (first task) <= ``finished_ms`` (last task) <= ``completed_ms``.
    ``ended_wall_ms`` and ``failed`` cover all ended task attempts; the other sums cover only successful ones.
    ``wall_ms`` is the time from launch to finish, ``run_ms`` the time in the task's run method. ``biggest_bytes`` and
    ``biggest_ms`` describe the task that read the most; ``longest_ms`` is the duration of the longest task.
    """

    attempt: int
    submitted_ms: int
    launched_ms: int
    finished_ms: int
    completed_ms: int
    tasks: int = 0
    wall_ms: int = 0
    run_ms: int = 0
    median_wall_ms: float = 0
    longest_ms: int = 0
    median_bytes: float = 0
    biggest_bytes: int = 0
    biggest_ms: int = 0
    ended_wall_ms: int = 0
    failed: int = 0
    cpu_ms: int = 0
    gc_ms: int = 0
    fetch_wait_ms: int = 0
    read_bytes: int = 0
    read_records: int = 0
    written_bytes: int = 0
    written_records: int = 0

    @property
    def elapsed_ms(self) -> int:
        """The time from submission to completion in ms."""
        return self.completed_ms - self.submitted_ms


@dataclass(frozen=True)
class Stage:
    """One stage with its attempts.

    ``occurrence`` numbers stages with the same fingerprint from 0, in the order of their start. ``name`` is the display
    name, ``spark_name`` the name that Spark gave the stage.
    """

    fingerprint: str
    occurrence: int
    stage_id: int
    name: str
    sql_execution_id: int | None
    attempts: tuple[Attempt, ...]
    spark_name: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """The key that identifies the stage in another run of the job."""
        return self.fingerprint, self.occurrence

    @property
    def main(self) -> Attempt:
        """The attempt with the most successful tasks (on a tie, the first one); the other attempts are repeats."""
        return max(self.attempts, key=lambda each: (each.tasks, -each.attempt))

    @property
    def elapsed_ms(self) -> int:
        """The sum of the durations of all attempts."""
        return sum(each.elapsed_ms for each in self.attempts)


@dataclass(frozen=True)
class Executor:
    """The task slots of one executor, and the period in which the executor existed.

    ``removed_ms`` is None if the executor was not removed.
    """

    cores: int
    added_ms: int
    removed_ms: int | None = None


@dataclass(frozen=True)
class Query:
    """One query (SQL execution) with its display names, and its duration (None if the query has no end)."""

    query_id: int
    name: str
    title: str
    call_site: str | None = None
    elapsed_ms: int | None = None


@dataclass(frozen=True)
class Run:
    """One run of an application.

    ``plans`` contains the node names of the final plan of each SQL execution, ``configuration`` the properties that may
    be compared. ``limits`` contains one sentence for each thing that the log lacks.
    """

    name: str
    app_id: str
    started_ms: int
    ended_ms: int
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    plans: Mapping[int, Sequence[str]] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    slots_per_task: int = 1
    queries: Mapping[int, Query] = field(default_factory=dict)

    @property
    def wall_ms(self) -> int:
        """The duration from the application's start to its end."""
        return self.ended_ms - self.started_ms

    @cached_property
    def by_key(self) -> Mapping[tuple[str, int], Stage]:
        """The stages by their key."""
        return {stage.key: stage for stage in self.stages}

    def slots(self, start_ms: int, end_ms: int) -> float | None:
        """Return the average number of task slots in a period; None if no executor existed in the period."""
        if end_ms <= start_ms:
            return None
        covered = sum(each.cores * self._overlap(each, start_ms, end_ms) for each in self.executors)
        return covered / (end_ms - start_ms) / self.slots_per_task if covered else None

    def _overlap(self, executor: Executor, start_ms: int, end_ms: int) -> int:
        until = end_ms if executor.removed_ms is None else min(executor.removed_ms, end_ms)
        return max(0, until - max(executor.added_ms, start_ms))
