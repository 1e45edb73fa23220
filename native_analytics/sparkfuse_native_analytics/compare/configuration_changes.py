"""Which properties of two runs differ, and what those bear on."""

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
    """A property that differs; a value is None where the run does not set it. ``bears_on`` is what it can change."""

    key: str
    before: str | None
    after: str | None
    bears_on: str


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Changed, ...]:
    """The properties that differ, by key. Spark's defaults are not in a log: set to its default is a change, too."""
    keys = sorted({*before, *after})
    never = re.compile(allowed_configuration().never)
    return tuple(
        Changed(key, before.get(key), after.get(key), bears_on(key))
        for key in keys
        if before.get(key) != after.get(key) and not never.search(key)
    )


def bears_on(key: str) -> str:
    """partitions, capacity, plan, or cost: what a property can change."""
    return next((what for what, pattern in _BEARS_ON if pattern.fullmatch(key)), COST)
