"""How long a stage attempt takes, as factors that can be told apart.

    active = (volume x cost + tasks x overhead) x repeats / min(slots, tasks) x (1 + tails)

``active`` is from the first task's launch to the last one's finish. The first bracket is the wall time of the tasks
that succeeded, ``repeats`` adds that of the ones that did not (the wall time of all ended tasks divided by theirs),
and divided by the parallelism that could be had it is the time an even split would take: the first of the two lower
bounds of Graham (Bounds on Multiprocessing Timing Anomalies, 1969). What the stage took beyond that is idle slots:

- ``skew``: the task with most data ran longer than the median task, and its data is more than the median's;
- ``failures``: tasks that had to be run again, one behind the other, at most for the time that failed tasks took;
- ``stragglers``: the longest task ran longer than the median task, and its data does not explain it;
- ``unexplained``: waves that do not come out even, slots that other stages took, scheduling. It may be negative.

Each claims at most the idle time that those before it left, so the four add up to it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_native_analytics.compare.run import Attempt

TAILS = ("skew", "failures", "stragglers", "unexplained")
COSTS = ("cpu", "gc", "fetch_wait", "other")
_MEASURES = ("read_bytes", "read_records", "written_bytes", "written_records")


@dataclass(frozen=True)
class Factors:
    """The factors of one attempt, and what two of them consist of: ``tails`` and ``costs`` (a unit of volume, ms)."""

    volume: float
    tasks: float
    overhead: float
    repeats: float
    slots: float
    tails: Mapping[str, float]
    costs: Mapping[str, float]

    def values(self) -> dict[str, float]:
        """The numbers that `active_ms` wants."""
        return {
            "volume": self.volume,
            "cost": sum(self.costs.values()),
            "tasks": self.tasks,
            "overhead": self.overhead,
            "repeats": self.repeats,
            "slots": self.slots,
            "tail": sum(self.tails.values()),
        }


def active_ms(values: Mapping[str, float]) -> float:
    """The formula above."""
    work = values["volume"] * values["cost"] + values["tasks"] * values["overhead"]
    return work * values["repeats"] / min(values["slots"], values["tasks"]) * (1 + values["tail"])


def measure_of(one: Attempt, other: Attempt) -> str | None:
    """What both attempts' volume can be measured by: bytes read, else records read, else the same written.

    None when none of them is known in both.
    """
    return next((name for name in _MEASURES if getattr(one, name) > 0 and getattr(other, name) > 0), None)


def factors(attempt: Attempt, slots: float | None, measure: str | None) -> Factors | None:
    """The factors of an attempt; None when no task of it succeeded or none took a millisecond.

    Without known slots those are taken that were busy on average, and without a measure the volume is one.
    """
    active = attempt.finished_ms - attempt.launched_ms
    if attempt.tasks <= 0 or attempt.wall_ms <= 0 or active <= 0:
        return None
    ended = max(attempt.ended_wall_ms, attempt.wall_ms)
    had = slots if slots is not None and slots > 0 else ended / active
    volume = float(getattr(attempt, measure)) if measure else 1.0
    run = min(attempt.run_ms, attempt.wall_ms)
    even = ended / min(had, attempt.tasks)
    return Factors(
        volume=volume,
        tasks=attempt.tasks,
        overhead=(attempt.wall_ms - run) / attempt.tasks,
        repeats=ended / attempt.wall_ms,
        slots=had,
        tails={name: idle / even for name, idle in _idle(attempt, active - even).items()},
        costs={name: spent / volume for name, spent in _spent(attempt, run).items()},
    )


def _idle(attempt: Attempt, idle_ms: float) -> dict[str, float]:
    """Idle time by what caused it."""
    left = max(idle_ms, 0.0)
    skew = min(left, _longer_by_data(attempt))
    left -= skew
    failures = min(left, float(max(attempt.ended_wall_ms - attempt.wall_ms, 0))) if attempt.failed > 0 else 0.0
    left -= failures
    stragglers = min(left, max(attempt.longest_ms - attempt.median_wall_ms - skew, 0.0))
    return {
        "skew": skew,
        "failures": failures,
        "stragglers": stragglers,
        "unexplained": idle_ms - skew - failures - stragglers,
    }


def _longer_by_data(attempt: Attempt) -> float:
    """By how much the task with most data outlasts the median task, at most as much as its data outweighs theirs.

    The first tasks of a cold JVM take long on even data: that is no skew.
    """
    longer = max(attempt.biggest_ms - attempt.median_wall_ms, 0.0)
    if attempt.median_bytes <= 0:
        return longer if attempt.biggest_bytes > 0 else 0.0
    more = max(attempt.biggest_bytes / attempt.median_bytes - 1, 0.0)
    return min(longer, attempt.median_wall_ms * more)


def _spent(attempt: Attempt, run_ms: int) -> dict[str, float]:
    """The run time by what it was spent on; what the metrics do not name (disks, Python, waiting) is other."""
    named = {"cpu": attempt.cpu_ms, "gc": attempt.gc_ms, "fetch_wait": attempt.fetch_wait_ms}
    return {**{name: float(spent) for name, spent in named.items()}, "other": float(run_ms - sum(named.values()))}
