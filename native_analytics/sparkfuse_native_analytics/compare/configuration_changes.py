"""Finds the properties that differ between two runs, and what they affect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_contracts.configuration import allowed_configuration

_BEARS_ON = (
    ("partitions", re.compile(
        r"spark\.(sql\.shuffle\.partitions|default\.parallelism|sql\.files\..*|files\.(maxPartitionBytes|openCostInBytes)"
        r"|sql\.adaptive\.(enabled|coalescePartitions\..*|advisoryPartitionSizeInBytes|skewJoin\..*))")),
    ("capacity", re.compile(
        r"spark\.(master|cores\.max|executor\.(cores|instances|resource\..*)|dynamicAllocation\..*|task\.cpus|"
        r"task\.resource\..*)")),
    ("plan", re.compile(
        r"spark\.sql\.(autoBroadcastJoinThreshold|join\..*|cbo\..*|optimizer\..*|adaptive\..*|codegen\..*)")),
)  # fmt: skip
COST = "cost"


@dataclass(frozen=True)
class Changed:
    """A property whose value differs between the runs; a value is None if the run does not set the property.

    ``bears_on`` is what the property affects.
    """

    key: str
    before: str | None
    after: str | None
    bears_on: str


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Changed, ...]:
    """Return the properties that differ, ordered by key.

    Logs do not contain Spark's defaults, so setting a property to its default counts as a change.
    """
    keys = sorted({*before, *after})
    never = re.compile(allowed_configuration().never)
    return tuple(
        Changed(key, before.get(key), after.get(key), bears_on(key))
        for key in keys
        if before.get(key) != after.get(key) and not never.search(key)
    )


def bears_on(key: str) -> str:
    """Return what a property affects: partitions, capacity, plan or cost."""
    return next((what for what, pattern in _BEARS_ON if pattern.fullmatch(key)), COST)
