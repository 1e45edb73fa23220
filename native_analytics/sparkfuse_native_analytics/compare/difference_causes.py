"""From parts to the causes that people ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

CAUSES: Mapping[str, str] = {
    "volume": "more or less data",
    "plan": "other stages: the plan or the job changed",
    "configuration": "configuration that bears on tasks changed, and with it their number or their cost",
    "capacity": "another number of task slots, or waiting for them",
    "skew": "one task has most of the data",
    "failures": "tasks and stages that were run again",
    "cost": "the same work took tasks more or less time: code, hosts, noise",
    "stragglers": "one task takes longer on even data",
    "overlap": "more or less runs side by side",
    "driver": "time outside stages: start, driver, end",
    "unexplained": "what none of these explains",
}
_OF_PART = {
    "volume": "volume",
    "slots": "capacity",
    "waiting": "capacity",
    "no_executor": "capacity",
    "skew": "skew",
    "failed_tasks": "failures",
    "repeats": "failures",
    "stragglers": "stragglers",
    "overlap": "overlap",
    "added": "plan",
    "removed": "plan",
    "before_first_stage": "driver",
    "driver": "driver",
    "after_last_stage": "driver",
    "unexplained": "unexplained",
}


def cause_of(part: str, changed: Collection[str], *, volume_moved: bool = False) -> str:
    """The cause that a part counts to.

    ``changed`` says what the changed properties bear on (`configuration.bears_on`). Another number of tasks is
    configuration when a property of partitions changed, volume when the volume did (files are split by size), else
    plan. More time for the same work is configuration when a property that bears on cost changed: which of them did
    it, or whether the hosts were slow, two runs cannot tell.
    """
    if part == "partitions":
        return "configuration" if "partitions" in changed else "volume" if volume_moved else "plan"
    if part in {"cpu", "gc", "fetch_wait", "other", "overhead"}:
        return "configuration" if "cost" in changed else "cost"
    return _OF_PART[part]


def ranked(parts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Causes or parts, first those that push into the direction of their sum, each group the largest first."""
    total = sum(parts.values())
    return sorted(parts.items(), key=lambda each: (each[1] * total < 0, -abs(each[1]), each[0]))
