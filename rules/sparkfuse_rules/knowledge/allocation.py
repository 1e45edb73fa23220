"""Sums the cores and the memory that executors occupy over time, which is what a cluster charges for.

The driver is not included, except in local mode, where it runs the tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

# Defaults of Spark: spark.executor.memory and spark.driver.memory, spark.executor.memoryOverheadFactor, and the minimum
# of the overhead (ResourceProfile.getResourcesForClusterManager).
_HEAP_MIB, _OVERHEAD_FACTOR, _MIN_OVERHEAD_MIB = 1024, 0.1, 384
# Only these cluster managers allocate memory beyond the heap.
_WITH_OVERHEAD = ("yarn", "k8s")
_SIZE = re.compile(r"(\d{1,15})\s*([kmgtp]?)i?b?", re.IGNORECASE)
_MIB = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
MAX_SHARE = 100


@dataclass(frozen=True)
class Allocation:
    """The executors of an application as two linear functions of time: amount x time + base.

    Times are ms since the application started. ``memory_known`` is false if the memory of any executor is unknown;
    ``complete`` is false if any executor was not counted.
    """

    cores: int = 0
    core_base: int = 0
    memory_mib: int = 0
    memory_base: int = 0
    memory_known: bool = True
    complete: bool = True

    def core_ms(self, at_ms: int) -> int | None:
        """Return the sum of cores x ms until ``at_ms``; None if there is no executor, or if any was not counted."""
        found = self.cores * at_ms + self.core_base
        return found if self.complete and found > 0 else None

    def memory_mib_ms(self, at_ms: int) -> int | None:
        """Return the sum of MiB x ms until ``at_ms``; None if the memory of an executor is unknown."""
        found = self.memory_mib * at_ms + self.memory_base
        return found if self.complete and self.memory_known and found > 0 else None


def joined(before: Allocation, cores: int, memory_mib: int | None, at_ms: int) -> Allocation:
    """Return the allocation after an executor was added at ``at_ms``; ``memory_mib`` is None if it is unknown."""
    memory = memory_mib or 0
    return replace(
        before,
        cores=before.cores + cores,
        core_base=before.core_base - cores * at_ms,
        memory_mib=before.memory_mib + memory,
        memory_base=before.memory_base - memory * at_ms,
        memory_known=before.memory_known and memory_mib is not None,
    )


def left(before: Allocation, cores: int, memory_mib: int | None, at_ms: int) -> Allocation:
    """Return the allocation after an executor with these cores and this memory was removed at ``at_ms``."""
    return joined(before, -cores, None if memory_mib is None else -memory_mib, at_ms)


def driver_memory_mib(configuration: Mapping[str, str]) -> int | None:
    """Return the heap in MiB of the driver, because it runs the tasks in local mode; None if it cannot be read."""
    return _mib(configuration.get("spark.driver.memory"), _HEAP_MIB)


def executor_memory_mib(master: str, configuration: Mapping[str, str]) -> int | None:
    """Return the memory in MiB that the cluster manager reserves for an executor; None if it cannot be read.

    The memory is heap + overhead + memory of Python workers + off-heap memory, as Spark requests it for executors of
    the default resource profile.
    """
    heap = _mib(configuration.get("spark.executor.memory"), _HEAP_MIB)
    python = _mib(configuration.get("spark.executor.pyspark.memory"), 0)
    overhead = _overhead_mib(configuration, heap) if master.startswith(_WITH_OVERHEAD) else 0
    parts = (heap, python, overhead, _off_heap_mib(configuration))
    return None if None in parts else sum(each for each in parts if each)


def _overhead_mib(configuration: Mapping[str, str], heap: int | None) -> int | None:
    if heap is None:
        return None
    factor = _OVERHEAD_FACTOR
    for name in ("spark.kubernetes.memoryOverheadFactor", "spark.executor.memoryOverheadFactor"):
        factor = _share(configuration.get(name)) or factor
    return _mib(configuration.get("spark.executor.memoryOverhead"), max(int(factor * heap), _MIN_OVERHEAD_MIB))


def _off_heap_mib(configuration: Mapping[str, str]) -> int | None:
    if configuration.get("spark.memory.offHeap.enabled", "").strip().lower() != "true":
        return 0
    return _mib(configuration.get("spark.memory.offHeap.size"), 0, default_unit="")


def size_mib(text: str) -> int | None:
    """Return a size such as ``6g`` or ``6144m`` in MiB, None if it cannot be read; without a unit it is in MiB."""
    return _mib(text, 0)


def _mib(text: str | None, default: int, default_unit: str = "m") -> int | None:
    """Return a size of Spark in MiB; ``default`` if it is not set, None if it cannot be read."""
    if text is None or not text.strip():
        return default
    found = _SIZE.fullmatch(text.strip())
    if not found:
        return None
    unit = found[2].lower() or default_unit
    return int(int(found[1]) * _MIB[unit]) if unit else int(found[1]) // 1024**2


def _share(text: str | None) -> float | None:
    try:
        share = float(text) if text else 0.0
    except ValueError:
        return None
    return share if 0 < share <= MAX_SHARE else None
