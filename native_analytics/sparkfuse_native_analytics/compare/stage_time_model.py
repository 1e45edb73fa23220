"""A model of the duration of a stage attempt as a product of factors.

    active = (volume x cost + tasks x overhead) x repeats / min(slots, tasks) x (1 + tails)

``active`` is the time from the launch of the first task to the finish of the last one. The first bracket is the wall
time of successful tasks. ``repeats`` is the wall time of all ended tasks divided by that of successful ones. The
product of bracket and ``repeats``, divided by min(slots, tasks), is the duration if the work were evenly distributed.
This duration is the first of Graham's two lower bounds (Bounds on Multiprocessing Timing Anomalies, 1969). The rest of
the duration is idle time of slots, which ``tails`` describes:

- ``skew``: the task with the most data ran longer than the median task, because it has more data;
- ``failures``: tasks ran again after a failure; at most the duration of the failed tasks;
- ``stragglers``: the longest task ran longer than the median task, and skew does not explain the difference;
- ``unexplained``: uneven waves of tasks, slots used by other stages, scheduling. The part ``unexplained`` may be
  negative.

Each of the first three parts is at most the idle time that the earlier parts do not explain; ``unexplained`` is the
rest.
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
    """The factors of one attempt; ``tails`` and ``costs`` (ms per unit of volume) are split into constituents."""

    volume: float
    tasks: float
    overhead: float
    repeats: float
    slots: float
    tails: Mapping[str, float]
    costs: Mapping[str, float]

    def values(self) -> dict[str, float]:
        """Return the arguments of `active_ms`."""
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
    """Evaluate the formula of this module."""
    work = values["volume"] * values["cost"] + values["tasks"] * values["overhead"]
    return work * values["repeats"] / min(values["slots"], values["tasks"]) * (1 + values["tail"])


def measure_of(one: Attempt, other: Attempt) -> str | None:
    """Return the measure of volume that both attempts have: bytes or records read, else bytes or records written.

    Return None if the attempts have no measure in common.
    """
    return next((name for name in _MEASURES if getattr(one, name) > 0 and getattr(other, name) > 0), None)


def factors(attempt: Attempt, slots: float | None, measure: str | None) -> Factors | None:
    """Return the factors of an attempt; None if no task succeeded or no task took a millisecond.

    If the number of slots is unknown, the average number of busy slots is used. The volume is 1 if ``measure`` is
    None.
    """
    active = attempt.finished_ms - attempt.launched_ms
    if attempt.tasks <= 0 or attempt.wall_ms <= 0 or active <= 0:
        return None
    ended = max(attempt.ended_wall_ms, attempt.wall_ms)
    available = slots if slots is not None and slots > 0 else ended / active
    volume = float(getattr(attempt, measure)) if measure else 1.0
    run = min(attempt.run_ms, attempt.wall_ms)
    even = ended / min(available, attempt.tasks)
    return Factors(
        volume=volume,
        tasks=attempt.tasks,
        overhead=(attempt.wall_ms - run) / attempt.tasks,
        repeats=ended / attempt.wall_ms,
        slots=available,
        tails={name: idle / even for name, idle in _idle(attempt, active - even).items()},
        costs={name: spent / volume for name, spent in _spent(attempt, run).items()},
    )


def _idle(attempt: Attempt, idle_ms: float) -> dict[str, float]:
    """Split the idle time by cause."""
    left = max(idle_ms, 0.0)
    skew = min(left, longer_by_data(attempt))
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


def longer_by_data(attempt: Attempt) -> float:
    """Return how much longer the task with the most data ran than the median task, limited by the ratio of their data.

    Without the limit, a first task that is slow on a cold JVM would count as skew.
    """
    longer = max(attempt.biggest_ms - attempt.median_wall_ms, 0.0)
    if attempt.median_bytes <= 0:
        return longer if attempt.biggest_bytes > 0 else 0.0
    more = max(attempt.biggest_bytes / attempt.median_bytes - 1, 0.0)
    return min(longer, attempt.median_wall_ms * more)


def _spent(attempt: Attempt, run_ms: int) -> dict[str, float]:
    """Split the run time by metric; time without a metric (disks, Python, waiting) is the part ``other``."""
    named = {"cpu": attempt.cpu_ms, "gc": attempt.gc_ms, "fetch_wait": attempt.fetch_wait_ms}
    return {**{name: float(spent) for name, spent in named.items()}, "other": float(run_ms - sum(named.values()))}
