from __future__ import annotations

import os
import re

import pytest

from tests.waiting import wait_for


@pytest.mark.timeout(600)
def test_hung_function_is_idle_and_starting_worker_is_not(run_job, facts, kafka_bootstrap, topics, tmp_path):
    """A task with a hung Python function is reported as idle, with its stack.

    A busy task and a slowly starting worker are not reported as idle.
    """
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    job = run_job(
        "spark35",
        "hung_function.py",
        kafka_bootstrap,
        topics,
        spark__python__daemon__module="slow_daemon",
        spark__python__use__daemon="true",
        spark__test__answer=str(answer),
    )
    job.wait_for_line("RUNS")

    def hung(since_ms: int) -> list:
        looks = [fact for fact in facts.all() if fact.WhichOneof("kind") == "task_progress"]
        tasks = [fact.task_progress for fact in looks if fact.event_time_ms > since_ms]
        return [task for task in tasks if task.task_index == 0 and task.stack]

    def hung_for_long(since_ms: int) -> tuple | None:
        looks = hung(since_ms)
        return (looks[0], looks[-1]) if looks and looks[-1].age_ms > looks[0].age_ms + 5_000 else None

    # While the other task is busy, its CPU cannot be separated from that of the hung task's worker, and the first
    # sample after its end still includes some of it. The last sample is before the answer, which wakes the worker.
    [neighbour] = wait_for(lambda: facts.of("task_ended"), 120, "the end of the other task")
    spun, last = wait_for(lambda: hung_for_long(neighbour.finished_ms), 120, "a task that hangs alone")
    # Opened without blocking, so that a job that no longer reads is an error and not a hung test.
    os.close(os.open(answer, os.O_WRONLY | os.O_NONBLOCK))
    assert job.wait_for_line("SUM") == "3"
    progress = facts.of("task_progress")

    assert last.activity == "idle"
    assert last.stalled_ms > 5_000
    assert last.cpu_since_progress_ms - spun.cpu_since_progress_ms < 0.05 * (last.age_ms - spun.age_ms)
    assert "org.apache.spark.api.python" in last.stack
    starting = [task for task in progress if task.activity == "python_starting"]
    assert starting
    assert max(task.stalled_ms for task in starting) < 1_000
    assert {task.activity for task in progress if task.task_index == 1} >= {"busy"}
    # The wait channel of the kernel is not readable everywhere, for example in a container.
    assert re.match(r"pid \d+, state S", last.python_worker)
    assert last.python_worker.endswith("Python frames are not visible to the JVM")
    _check_samples(facts.of("executor_sample"))


def _check_samples(samples: list) -> None:
    """Check the samples of local mode: the one JVM, which is driver and executor, is sampled only as the driver."""
    assert {sample.executor_id for sample in samples} == {"driver"}
    always = ("heap_used_bytes", "heap_max_bytes", "non_heap_used_bytes", "rss_bytes", "cpu_ns", "threads",
              "open_files", "max_open_files", "direct_memory_bytes")  # fmt: skip
    for name in always:
        assert all(getattr(sample, name) > 0 for sample in samples), name
    assert max(sample.python_rss_bytes for sample in samples) > 10_000_000
    assert max(sample.python_workers for sample in samples) == 2
    spent = [sample.python_cpu_ns for sample in samples]
    assert spent == sorted(spent)
    assert spent[-1] > 1_000_000_000, "one of them was busy for seconds"
    assert any(sample.HasField("storage_memory_used_bytes") for sample in samples)
    assert any(sample.HasField("execution_memory_used_bytes") for sample in samples)
    pauses = [pause for sample in samples for pause in sample.gc_pauses]
    unique = {(pause.started_ms, pause.collector, pause.heap_before_bytes) for pause in pauses}
    assert len(unique) == len(pauses) > 0, "each pause is reported once"
    assert samples[-1].gc_count >= len(pauses)
    assert samples[-1].gc_ms >= max(pause.duration_ms for pause in pauses)
