"""The application `failures`: failed tasks, a silent executor, and a task that runs on after its stage.

An executor stays active after the end of the application.

The facts go to the partition of the application `orders`, so that the other partition is idle.
"""

from __future__ import annotations

import time
from typing import Any

from sparkfuse_contracts.generated import fact_pb2
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.integration.stream_jobs.scripted_orders import STAGE
from tests.integration.stream_jobs.windows_seen import Seen

CLOCK_OFFSET_MS = 600_000
PAUSE = fact_pb2.GcPause(started_ms=1, duration_ms=70, heap_after_bytes=55)


class FailingApplication:
    """Scripts an application on YARN with failed tasks, a silent executor, and a task that outlives its stage."""

    def __init__(self, bootstrap: str, topic: str, seen: Seen) -> None:
        self._app = ScriptedApplication(bootstrap, topic, "failures", int(time.time() * 1000) - CLOCK_OFFSET_MS)
        self._seen = seen

    def begin(self) -> None:
        """Send the first facts: both executors sample, and a fetch fails.

        Then one executor is lost with two tasks, one task keeps running, and the stage ends.
        """
        app, zero = self._app, self._app.start_ms
        app.send_fact("application_started", name="failures", master="yarn")
        app.send_fact(
            "resource_profile_added", profile_id=0, executor_memory_bytes=1 << 30, pyspark_memory_bytes=1 << 20
        )
        for number in ("1", "2"):
            app.send_fact("executor_added", executor_id=number, host=f"h{number}", added_ms=zero, resource_profile_id=0)
            self._sample(number, heap_used_bytes=int(number), gc_pause_max_ms=70, gc_pauses=[PAUSE])
        app.send_fact("job_started", job_id=1, stage_ids=[3])
        app.send_fact("stage_started", **STAGE, name="s", num_tasks=4, submitted_ms=zero)
        for index in range(4):
            app.send_fact("task_started", **STAGE, task_id=index, task_index=index, launched_ms=zero)
        self._fails(0, "FetchFailed", fetch_failed_host="h2", fetch_failed_executor_id="2", failure_reason="no block")
        self._fails(1, "ExecutorLostFailure", host="h2")
        self._fails(2, "ExecutorLostFailure", failure_reason="\u00e9" * 5000)
        app.send_fact("stage_ended", **STAGE, num_tasks=4, submitted_ms=zero, completed_ms=zero + 9, succeeded=False)
        app.flush()
        self._seen.wait_for("failures", "stage_live", lambda row: row.stage.status == "failed")

    def end(self) -> None:
        """Send the last facts: the task keeps running, one executor becomes silent, and the application ends.

        The executor that is not silent stays active.
        """
        self._sample("1", heap_used_bytes=3)
        self._app.send_fact(
            "task_progress", collector=EXECUTOR, **STAGE, task_id=3, task_index=3, executor_id="1", host="h1",
            age_ms=9000, stalled_ms=0, activity="moving",
        )  # fmt: skip
        self._app.flush()
        self._seen.wait_for("failures", "task_live", lambda row: True)
        self._app.send_fact("job_ended", job_id=1, succeeded=False)
        self._app.send_fact("application_ended", ended_ms=self._app.start_ms + 99)
        self._app.flush()
        self._seen.wait_for("failures", "application_ended", lambda row: True)
        self._sample("1", heap_used_bytes=4)
        self._app.flush()
        self._seen.wait_for("failures", "app_live", lambda row: row.application.outlived_ms > 0)

    def _sample(self, number: str, **gauges: Any) -> None:
        self._app.send_fact(
            "executor_sample", collector=EXECUTOR, executor_id=number, host=f"h{number}", rss_bytes=100,
            python_rss_bytes=10, direct_memory_bytes=5, **gauges,
        )  # fmt: skip

    def _fails(self, index: int, failure_class: str, **values: Any) -> None:
        self._app.send_fact(
            "task_ended", lane="reserved", **STAGE, task_id=index, task_index=index, outcome="failed",
            failure_class=failure_class, finished_ms=self._app.start_ms + index, duration_ms=5,
            **{"executor_id": "1", "host": "h1", **values},
        )  # fmt: skip
