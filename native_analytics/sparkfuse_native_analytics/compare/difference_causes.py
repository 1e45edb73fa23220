"""Maps each part of the difference between two runs to its cause."""

from __future__ import annotations

from collections.abc import Collection, Mapping

CAUSES: Mapping[str, str] = {
    "volume": "more or less data",
    "plan": "the runs have different stages: the plan or the job changed",
    "configuration": "a changed property changed the number of tasks or their cost",
    "capacity": "more or fewer task slots, or waiting for task slots",
    "skew": "one task has most of the data",
    "failures": "tasks and stages that ran again",
    "cost": "tasks took more or less time for the same work: code, hosts, noise",
    "stragglers": "one task took longer without having more data",
    "overlap": "more or fewer stages ran at the same time",
    "driver": "time outside stages: start, work of the driver, end",
    "unexplained": "the rest, which none of these causes explains",
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
    """Return the cause of a part.

    ``changed`` lists what the changed properties affect (`configuration_changes.bears_on`). A different number of tasks
    has the cause configuration if a property that affects partitions changed. Otherwise the cause is volume if the
    volume changed (files are split by size), and plan if the volume did not change. More time for the same work counts
    as configuration if a property that affects cost changed. A comparison of two runs cannot show whether that property
    or a slow host was the reason.
    """
    if part == "partitions":
        return "configuration" if "partitions" in changed else "volume" if volume_moved else "plan"
    if part in {"cpu", "gc", "fetch_wait", "other", "overhead"}:
        return "configuration" if "cost" in changed else "cost"
    return _OF_PART[part]


def ranked(parts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort causes or parts by size: first those with the same sign as the sum, then those with the other sign."""
    total = sum(parts.values())
    return sorted(parts.items(), key=lambda each: (each[1] * total < 0, -abs(each[1]), each[0]))
