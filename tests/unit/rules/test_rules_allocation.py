"""Tests the allocation of executors: cores and memory over time, and the memory of one executor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.allocation import Allocation, driver_memory_mib, executor_memory_mib, joined, left


def test_allocation_is_the_area_below_the_executors():
    """Two executors of 4 cores, one of them for 60 s only, occupy 4 x 100 + 4 x 60 core-seconds after 100 s."""
    both = joined(joined(Allocation(), 4, 2048, 0), 4, 2048, 10_000)
    after = left(both, 4, 2048, 70_000)

    assert after.core_ms(100_000) == 4 * 100_000 + 4 * 60_000
    assert after.memory_mib_ms(100_000) == 2048 * (100_000 + 60_000)


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_allocation_does_not_depend_on_the_order(executors):
    """The sum over all executors is the same, whatever the order in which they joined and left."""
    expected = sum(cores * lived for cores, _, lived in executors)
    found = Allocation()
    for cores, start, lived in executors:
        found = joined(left(found, cores, 1, start + lived), cores, 1, start)

    assert (found.core_ms(10**7) or 0) == expected


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(Allocation(), id="no executor"),
        pytest.param(Allocation(cores=4, complete=False), id="an executor was not counted"),
    ],
)
def test_allocation_is_unknown_without_executors(found):
    """Without a complete list of executors the allocation is unknown and not 0."""
    assert found.core_ms(60_000) is None
    assert found.memory_mib_ms(60_000) is None


def test_memory_is_unknown_if_one_executor_is():
    """If the memory of any executor is unknown, the sum is unknown; the cores are still known."""
    found = joined(joined(Allocation(), 4, 2048, 0), 4, None, 0)

    assert found.core_ms(1000) == 8000
    assert found.memory_mib_ms(1000) is None


@pytest.mark.parametrize(
    ("master", "configuration", "expected"),
    [
        pytest.param("yarn", {"spark.executor.memory": "8g"}, 8192 + 819, id="a tenth of overhead"),
        pytest.param("yarn", {"spark.executor.memory": "1g"}, 1024 + 384, id="the minimum of overhead"),
        pytest.param("k8s://c", {"spark.executor.memoryOverhead": "512"}, 1024 + 512, id="overhead in MiB"),
        pytest.param(
            "k8s://c", {"spark.executor.memory": "4g", "spark.kubernetes.memoryOverheadFactor": "0.4"}, 4096 + 1638,
            id="another factor",
        ),
        pytest.param(
            "yarn",
            {
                "spark.executor.memory": "4g", "spark.executor.memoryOverhead": "1g",
                "spark.executor.pyspark.memory": "2g", "spark.memory.offHeap.enabled": "true",
                "spark.memory.offHeap.size": "1073741824",
            },
            8192, id="Python and off-heap memory",
        ),
        pytest.param("yarn", {"spark.memory.offHeap.size": "1g"}, 1408, id="off-heap memory that is not enabled"),
        pytest.param("spark://host:7077", {"spark.executor.memory": "8g"}, 8192, id="standalone has no overhead"),
        pytest.param("yarn", {"spark.executor.memory": "lots"}, None, id="not a size"),
    ],
)  # fmt: skip
def test_executor_memory_follows_spark(master, configuration, expected):
    """The memory of an executor is what Spark requests from the cluster manager."""
    assert executor_memory_mib(master, configuration) == expected


def test_driver_memory_is_its_heap():
    """In local mode the driver is the only executor; its memory is its heap."""
    assert (driver_memory_mib({}), driver_memory_mib({"spark.driver.memory": "2g"})) == (1024, 2048)
