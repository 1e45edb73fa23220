"""Scripted rows of the topic live: one run of a job, told window by window as the windows job tells it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from sparkfuse_contracts.generated.live_pb2 import LiveRow

WINDOW_MS = 5_000
STAGE = {"name": "save at orders.py:88", "num_tasks": 8}


class Run:
    """The rows of one application attempt, numbered from 1. ``at`` is always the end of a window."""

    def __init__(self, app_id: str, start_ms: int, job: str = "nightly_orders", completeness: float = 1.0) -> None:
        self.app_id = app_id
        self.start_ms = start_ms
        self.job = job
        self.completeness = completeness
        self._numbers = count(1)

    @property
    def run_key(self) -> str:
        return f"{self.app_id}/0@{self.start_ms}"

    def row(self, view: str, at: int, **members: object) -> LiveRow:
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

    def started(self, at: int) -> LiveRow:
        properties = {"spark.sparkfuse.job": self.job}
        return self.row("application_started", at, application_started={"name": self.job, "properties": properties})

    def ended(self, at: int, failed_jobs: int = 0) -> LiveRow:
        return self.row("application_ended", at, application_ended={"ended_ms": at - 100, "failed_jobs": failed_jobs})

    def stage_started(self, at: int, stage_id: int = 3, **more: object) -> LiveRow:
        given = {"stage_id": stage_id, "stage_attempt": 0, **STAGE, "scope_names": ["Exchange", "Sort"], **more}
        return self.row("stage_started", at, stage_started=given)

    def stage(self, at: int, elapsed_ms: int, stage_id: int = 3, **more: object) -> LiveRow:
        """A stage that runs; its CPU is seven times its wall time, as with eight slots."""
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

    def stage_done(self, at: int, elapsed_ms: int, stage_id: int = 3, **more: object) -> LiveRow:
        done = {"status": "succeeded", "completed_ms": at - 100, "running_tasks": 0}
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

    def whole(self, wall_ms: int, **more: object) -> Iterator[LiveRow]:
        """A whole run with one stage of ``wall_ms``, window by window, that ends well."""
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
    """The pipeline's own clock, which only moves the time."""
    return LiveRow(view="tick", app_id=f"clock-{clock}", window_end_ms=at, tick={"sent_ms": at})


def _window_end(moment_ms: int) -> int:
    return (moment_ms // WINDOW_MS + 1) * WINDOW_MS
