"""Tests what the sums of executors and tasks say about the allocation of a run."""

from __future__ import annotations

import pytest

from sparkfuse_native_analytics.loader.run_resources import resources

HOUR_MS = 3_600_000


def executor(cores: int = 4, of_driver: bool = False, profile: int = 0) -> dict:
    """Return the sums of two executors that existed for half an hour each."""
    return {
        "of_driver": of_driver, "profile": profile, "executors": 2, "core_ms": cores * HOUR_MS,
        "executor_ms": HOUR_MS,
    }  # fmt: skip


def settings(master: str = "spark://h:7077", **configuration: str) -> dict:
    return {"master": master, "configuration": {key.replace("_", "."): each for key, each in configuration.items()}}


@pytest.mark.parametrize(
    ("executors", "configured", "memory_mib"),
    [
        pytest.param([executor(), executor()], settings(spark_executor_memory="2g"), 4096, id="heap of two"),
        pytest.param([executor()], settings("yarn", spark_executor_memory="2g"), 2048 + 384, id="overhead of YARN"),
        pytest.param([executor(of_driver=True)], settings(spark_driver_memory="3g"), 3072, id="local mode"),
        pytest.param([executor(), executor(profile=1)], settings(), None, id="other resource profile"),
        pytest.param([executor()], settings(spark_executor_memory="much"), None, id="size that cannot be read"),
        pytest.param([executor(of_driver=True)], settings(spark_driver_memory="100000000t"), None, id="above Int64"),
        pytest.param([executor()], {}, None, id="no configuration"),
        pytest.param([], settings(), None, id="no executors"),
    ],
)
def test_memory_is_known_or_none(executors: list, configured: dict, memory_mib: int | None) -> None:
    """Memory is that of the configuration; if a part of it is unknown, all of it is, and never 0."""
    found = resources(executors, configured, {})

    assert found["memory_mib_ms"] == (None if memory_mib is None else memory_mib * HOUR_MS)
    assert found["core_ms"] == (sum(each["core_ms"] for each in executors) or None)
    assert found["executors"] == 2 * len(executors)


def test_core_time_of_tasks_counts_the_cores_of_a_task() -> None:
    """A task that needs two cores uses two; a run without stages has no core time of tasks, not 0."""
    tasks = {"task_ms": 1000, "retried_ms": 250.4, "input_bytes": 7}
    found = resources([executor()], settings(spark_task_cpus="2"), tasks)

    assert (found["busy_core_ms"], found["retried_core_ms"], found["input_bytes"]) == (2000, 501, 7)
    assert resources([executor()], settings(spark_task_cpus="many"), tasks)["busy_core_ms"] == 1000
    assert resources([executor()], settings(), {})["busy_core_ms"] is None
