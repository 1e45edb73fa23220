"""What of a run a comparison needs. Times are ms since the epoch, durations ms; all are whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Attempt:
    """One attempt of a stage.

    ``submitted_ms`` <= ``launched_ms`` (its first task) <= ``finished_ms`` (its last) <= ``completed_ms``.
    Over its succeeded task attempts: ``tasks``, ``wall_ms`` (finish - launch), ``run_ms`` (in the run method),
    ``median_wall_ms``, ``median_bytes``; ``biggest_bytes`` and ``biggest_ms`` are of the one that read most,
    ``longest_ms`` is the longest; ``cpu_ms``, ``gc_ms``, ``fetch_wait_ms``, and the work: bytes and records read and
    written. Over all ended ones: ``ended_wall_ms``, ``failed``.
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
        """From submission to completion."""
        return self.completed_ms - self.submitted_ms


@dataclass(frozen=True)
class Stage:
    """One stage with its attempts; ``occurrence`` counts the stages of one fingerprint in the order they began."""

    fingerprint: str
    occurrence: int
    stage_id: int
    name: str
    sql_execution_id: int | None
    attempts: tuple[Attempt, ...]

    @property
    def key(self) -> tuple[str, int]:
        """What is the same in another run of the job."""
        return self.fingerprint, self.occurrence

    @property
    def main(self) -> Attempt:
        """The attempt that did the work: most succeeded tasks, of two alike the first. The others are repeats."""
        return max(self.attempts, key=lambda each: (each.tasks, -each.attempt))

    @property
    def elapsed_ms(self) -> int:
        """The time of all its attempts."""
        return sum(each.elapsed_ms for each in self.attempts)


@dataclass(frozen=True)
class Executor:
    """Task slots and when they were there; ``removed_ms`` is None for one that stayed."""

    cores: int
    added_ms: int
    removed_ms: int | None = None


@dataclass(frozen=True)
class Run:
    """One run of an application.

    ``plans`` holds for each SQL execution the names of the plan's nodes that ran in the end; ``configuration`` the
    properties that may be compared; ``limits`` sentences on what of the run is not known.
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

    @property
    def wall_ms(self) -> int:
        """From the application's start to its end."""
        return self.ended_ms - self.started_ms

    @cached_property
    def by_key(self) -> Mapping[tuple[str, int], Stage]:
        """The stages by what is the same in another run."""
        return {stage.key: stage for stage in self.stages}

    def slots(self, start_ms: int, end_ms: int) -> float | None:
        """Task slots between two moments, on average over that time; None when the log tells of no executor then."""
        if end_ms <= start_ms:
            return None
        covered = sum(each.cores * self._overlap(each, start_ms, end_ms) for each in self.executors)
        return covered / (end_ms - start_ms) / self.slots_per_task if covered else None

    def _overlap(self, executor: Executor, start_ms: int, end_ms: int) -> int:
        until = end_ms if executor.removed_ms is None else min(executor.removed_ms, end_ms)
        return max(0, until - max(executor.added_ms, start_ms))
