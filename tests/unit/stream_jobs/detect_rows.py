"""Creates scripted rows of the topic live: one run of a job, window by window, as the windows job writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from sparkfuse_contracts.generated.live_pb2 import LiveRow

WINDOW_MS = 5_000
STAGE: dict[str, Any] = {"name": "save at orders.py:88", "num_tasks": 8}
# A plan with one scan: name, number of the parent, and detail of each node.
SCAN_AND_EXCHANGE = (
    ("AdaptiveSparkPlan", -1, ""),
    ("Exchange", 0, "hashpartitioning o_custkey"),
    ("WholeStageCodegen (1)", 1, ""),
    ("HashAggregate", 2, "o_custkey"),
    ("Scan parquet", 3, "lake.orders parquet"),
)


class Run:
    """Creates the rows of one application attempt and numbers the rows from 1. ``at`` is always the end of a window."""

    def __init__(self, app_id: str, start_ms: int, job: str = "nightly_orders", completeness: float = 1.0) -> None:
        self.app_id = app_id
        self.start_ms = start_ms
        self.job = job
        self.completeness = completeness
        self._numbers = count(1)

    @property
    def run_key(self) -> str:
        return f"{self.app_id}/0@{self.start_ms}"

    def row(self, view: str, at: int, **members: Any) -> LiveRow:
        return LiveRow(
            view=view,
            cluster="prod-eu",
            tenant="orders",
            app_id=self.app_id,
            app_attempt=0,
            app_start_ms=self.start_ms,
            window_end_ms=at,
            row_seq=next(self._numbers),
            completeness=self.completeness,
            **members,
        )

    def started(self, at: int, **more: str) -> LiveRow:
        """Return the start of the application; ``more`` contains settings of Sparkfuse, such as ``deadline``."""
        given = {f"spark.sparkfuse.{name}": value for name, value in more.items()}
        properties = {"spark.sparkfuse.job": self.job, **given}
        return self.row("application_started", at, application_started={"name": self.job, "properties": properties})

    def ended(self, at: int, failed_jobs: int = 0) -> LiveRow:
        return self.row("application_ended", at, application_ended={"ended_ms": at - 100, "failed_jobs": failed_jobs})

    def stage_started(self, at: int, stage_id: int = 3, **more: Any) -> LiveRow:
        given = {"stage_id": stage_id, "stage_attempt": 0, **STAGE, "scope_names": ["Exchange", "Sort"], **more}
        return self.row("stage_started", at, stage_started=given)

    def stage(self, at: int, elapsed_ms: int, stage_id: int = 3, **more: Any) -> LiveRow:
        """Return the row of a running stage; its CPU time is seven times its elapsed time, as with eight slots."""
        given = {
            "stage_id": stage_id,
            "stage_attempt": 0,
            **STAGE,
            "status": "running",
            "submitted_ms": at - elapsed_ms,
            "elapsed_ms": elapsed_ms,
            "finished_tasks": 4,
            "succeeded_tasks": 4,
            "running_tasks": 4,
            "finished_cpu_ms": 7 * elapsed_ms,
            "work_bytes": 1_000_000_000,
            "work_records": 5_000_000,
            **more,
        }
        return self.row("stage_live", at, stage=given)

    def stage_done(self, at: int, elapsed_ms: int, stage_id: int = 3, **more: Any) -> LiveRow:
        done: dict[str, Any] = {"status": "succeeded", "completed_ms": at - 100, "running_tasks": 0}
        return self.stage(at, elapsed_ms, stage_id, **{**done, "finished_tasks": 8, "succeeded_tasks": 8, **more})

    def stage_ended(self, at: int, stage_id: int = 3, succeeded: bool = True, stage_attempt: int = 0) -> LiveRow:
        given = {"stage_id": stage_id, "stage_attempt": stage_attempt, "succeeded": succeeded}
        return self.row("stage_ended", at, stage_ended=given)

    def task(self, at: int, stalled_ms: int, task_id: int = 77, stage_id: int = 3) -> LiveRow:
        given = {
            "stage_id": stage_id,
            "stage_attempt": 0,
            "task_id": task_id,
            "task_index": 5,
            "task_attempt": 0,
            "executor_id": "2",
            "host": "node-7",
            "age_ms": stalled_ms + 1_000,
            "stalled_ms": stalled_ms,
            "cpu_since_progress_ms": 3,
            "activity": "idle",
            "stack": "java.net.SocketInputStream.read",
        }
        return self.row("task_live", at, task=given)

    def application(self, at: int, **more: Any) -> LiveRow:
        """Return the row of the running application; its CPU time is seven times its elapsed time."""
        elapsed_ms = at - self.start_ms
        given = {
            "name": self.job,
            "status": "running",
            "elapsed_ms": elapsed_ms,
            "running_jobs": 1,
            "running_tasks": 4,
            "finished_tasks": 4,
            "executors": 2,
            "finished_cpu_ms": 7 * elapsed_ms,
            "work_bytes": 1_000_000_000,
            "work_records": 5_000_000,
            **more,
        }
        return self.row("app_live", at, application=given)

    def application_done(self, at: int, wall_ms: int, **more: Any) -> LiveRow:
        ended_ms = self.start_ms + wall_ms
        done: dict[str, Any] = {"status": "succeeded", "elapsed_ms": wall_ms, "ended_ms": ended_ms, "running_jobs": 0}
        return self.application(at, **{**done, "running_tasks": 0, "finished_cpu_ms": 7 * wall_ms, **more})

    def failure(self, at: int, stage_id: int = 3, **more: Any) -> LiveRow:
        """Return a row about failed tasks of one stage that have the same cause."""
        given = {
            "stage_id": stage_id,
            "stage_attempt": 0,
            "failure_class": "java.lang.ArithmeticException",
            "failure_reason": "java.lang.ArithmeticException: / by zero\n\tat com.shop.Job.f(Job.java:7)",
            "failed_tasks": 3,
            "finished_tasks": 9,
            "num_tasks": 8,
            "task_index": 5,
            "executor_id": "2",
            "host": "node-7",
            "hosts": 1,
            "failing_tasks": 1,
            "attempts_max": 3,
            **more,
        }
        return self.row("failure_live", at, failure=given)

    def job_started(self, at: int, job_id: int = 1, stage_ids: Sequence[int] = (3,), **more: Any) -> LiveRow:
        given = {"job_id": job_id, "submitted_ms": at - 4_000, "stage_ids": stage_ids, "description": "write orders"}
        given |= more
        return self.row("job_started", at, job_started=given)

    def job_ended(self, at: int, job_id: int = 1, reason: str | None = None) -> LiveRow:
        """Return the row of an ended job, which succeeded unless a ``reason`` is given."""
        given = {"job_id": job_id, "completed_ms": at - 100, "succeeded": reason is None, "failure_reason": reason}
        return self.row("job_ended", at, job_ended=given)

    def query_started(self, at: int, execution: int = 5, root: int | None = None, **more: Any) -> LiveRow:
        given = {"sql_execution_id": execution, "started_ms": at - 9_000, "description": "save orders",
                 "root_execution_id": execution if root is None else root, **more}  # fmt: skip
        return self.row("sql_started", at, sql_started=given)

    def query_plan(
        self, at: int, execution: int = 5, version: int = 0, nodes: Sequence[tuple[str, int, str]] = SCAN_AND_EXCHANGE
    ) -> LiveRow:
        """Return one version of a query's plan; each node has a name, the number of its parent, and a detail."""
        names, parents, details = zip(*nodes, strict=True)
        given = {"sql_execution_id": execution, "plan_version": version, "node_names": names,
                 "node_parents": parents, "node_details": details}  # fmt: skip
        return self.row("sql_plan", at, sql_plan=given)

    def query_metrics(self, at: int, values: Mapping[int, int], execution: int = 5) -> LiveRow:
        """Return the last values of a query's metrics by accumulator."""
        given = {"sql_execution_id": execution, "accumulator_ids": values.keys(), "values": values.values()}
        return self.row("sql_metrics", at, sql_metrics=given)

    def query(self, at: int, execution: int = 5, **more: Any) -> LiveRow:
        """Return the row of a running SQL execution."""
        given = {"query_id": execution, "root_query_id": execution, "status": "running", "description": "save orders"}
        return self.row("query_live", at, query={**given, **more})

    def query_ended(self, at: int, execution: int = 5, reason: str | None = None) -> LiveRow:
        """Return the row of an ended SQL execution, which succeeded unless a ``reason`` is given."""
        given = {"sql_execution_id": execution, "ended_ms": at - 100, "failure_reason": reason}
        return self.row("sql_ended", at, sql_ended=given)

    def executor_added(self, at: int, executor_id: str = "2", host: str = "node-7") -> LiveRow:
        given = {"executor_id": executor_id, "host": host, "cores": 4, "added_ms": at - 1_000}
        return self.row("executor_added", at, executor_added=given)

    def executor_removed(self, at: int, executor_id: str = "2", reason: str = "worker lost", **more: Any) -> LiveRow:
        given = {"executor_id": executor_id, "removed_ms": at - 500, "reason": reason, **more}
        return self.row("executor_removed", at, executor_removed=given)

    def pod(self, at: int, executor_id: str = "2", **more: Any) -> LiveRow:
        """Return a change of an executor's pod; without ``more`` it was placed on a node."""
        given = {"executor_id": executor_id, "pod": f"spark/etl-exec-{executor_id}", "node": "worker-9", **more}
        return self.row("pod_changed", at, pod_changed={**given, "changed_ms": at - 500})

    def whole_application(self, wall_ms: int) -> Iterator[LiveRow]:
        """Return the rows of a complete run with one stage, including the row of the application before its end."""
        *rows, ended = self.whole(wall_ms)
        done = self.application_done(ended.window_end_ms, wall_ms)
        done.row_seq, ended.row_seq = ended.row_seq, done.row_seq
        yield from [*rows, done, ended]

    def whole(self, wall_ms: int, **more: Any) -> Iterator[LiveRow]:
        """Return the rows of a complete successful run with one stage of ``wall_ms``, window by window."""
        at = _window_end(self.start_ms)
        yield self.started(at)
        yield self.stage_started(at)
        while at + WINDOW_MS < self.start_ms + wall_ms:
            yield self.stage(at, at - self.start_ms, **more)
            at += WINDOW_MS
        at = _window_end(self.start_ms + wall_ms)
        yield self.stage_done(at, wall_ms, **more)
        yield self.stage_ended(at)
        yield self.ended(at)


def tick(at: int, clock: int = 0) -> LiveRow:
    """Return a tick of the pipeline's clock: a record that only advances the time."""
    return LiveRow(view="tick", app_id=f"clock-{clock}", window_end_ms=at, tick={"sent_ms": at})


def _window_end(moment_ms: int) -> int:
    return (moment_ms // WINDOW_MS + 1) * WINDOW_MS
