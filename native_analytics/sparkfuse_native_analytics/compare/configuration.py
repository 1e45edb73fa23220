"""Which properties two runs may be compared by, which differ, and what those bear on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

KEYS = (
    "spark.broadcast.*", "spark.cores.max", "spark.default.parallelism", "spark.driver.cores", "spark.driver.memory",
    "spark.dynamicAllocation.*", "spark.executor.cores", "spark.executor.instances", "spark.executor.memory",
    "spark.executor.memoryOverhead*", "spark.executor.pyspark.memory", "spark.executor.resource.*",
    "spark.files.maxPartitionBytes", "spark.files.openCostInBytes", "spark.io.compression.*", "spark.locality.*",
    "spark.master", "spark.maxRemoteBlockSizeFetchToMem", "spark.memory.*", "spark.python.worker.*",
    "spark.rdd.compress", "spark.reducer.*", "spark.scheduler.mode", "spark.serializer", "spark.shuffle.*",
    "spark.speculation*", "spark.sql.adaptive.*", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.cbo.*",
    "spark.sql.codegen.*", "spark.sql.execution.arrow.*", "spark.sql.files.*", "spark.sql.inMemoryColumnarStorage.*",
    "spark.sql.join.*", "spark.sql.optimizer.*", "spark.sql.orc.*", "spark.sql.parquet.*",
    "spark.sql.shuffle.partitions", "spark.submit.deployMode", "spark.task.*",
)  # fmt: skip
"""An allow-list: what else a configuration holds (addresses, options of the JVM, catalogs) may hold secrets."""

_SECRET = re.compile(r"(?i)secret|password|token|credential|access.?key|java.?options|\.env\b")
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
    return tuple(
        Changed(key, before.get(key), after.get(key), bears_on(key))
        for key in keys
        if before.get(key) != after.get(key) and not _SECRET.search(key)
    )


def bears_on(key: str) -> str:
    """partitions, capacity, plan, or cost: what a property can change."""
    return next((what for what, pattern in _BEARS_ON if pattern.fullmatch(key)), COST)
