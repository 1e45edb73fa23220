"""What an application tells of the hosts that it shares with others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import (
    MIN_LOST_MS,
    MIN_STALLED_MS,
    Trouble,
    trouble_of_failure,
    trouble_of_loss,
    trouble_of_stage,
    trouble_of_task,
)
from sparkfuse_stream_jobs.detect.rows import present
from sparkfuse_stream_jobs.detect.run_memory import Memory, application_of

# How often an application says on which hosts its tasks run: often enough for ten minutes that slide.
TELL_EVERY_MS = 120_000
_TROUBLE_OF = {
    "failure": trouble_of_failure,
    "executor_loss": trouble_of_loss,
    "stage": trouble_of_stage,
    "task": trouble_of_task,
}


@dataclass(frozen=True)
class HostNews:
    """Of one application in one window: the hosts that its tasks run on, or what it met on one of them."""

    cluster: str
    app_key: str
    app_id: str
    at_ms: int
    ran: tuple[str, ...] = ()
    troubles: tuple[Trouble, ...] = ()


def host_news(row: LiveRow, memory: Memory) -> Iterator[HostNews]:
    """What the row, with all that detection knows of it, tells of hosts."""
    if row.HasField("application"):
        yield from _where_it_runs(row, memory)
    elif trouble := _trouble(row):
        yield replace(_of(row), troubles=(trouble,))


def _trouble(row: LiveRow) -> Trouble | None:
    kind = row.WhichOneof("row") or ""
    return _TROUBLE_OF[kind](present(getattr(row, kind))) if kind in _TROUBLE_OF and not _is_fine(row) else None


def _is_fine(row: LiveRow) -> bool:
    """Whether it is plain at a glance that nothing is wrong; most rows are such."""
    return (row.HasField("stage") and row.stage.slowest_task_lost_ms < MIN_LOST_MS) or (
        row.HasField("task") and row.task.stalled_ms < MIN_STALLED_MS
    )


def _where_it_runs(row: LiveRow, memory: Memory) -> Iterator[HostNews]:
    application = application_of(memory)
    due_ms = application.hosts_told_at_ms + TELL_EVERY_MS
    if not row.application.running_tasks or row.window_end_ms < due_ms:
        return
    memory.application.put(replace(application, hosts_told_at_ms=row.window_end_ms))
    hosts = {executor.host for _, executor in memory.executors.items() if executor.host}
    if hosts:
        yield replace(_of(row), ran=tuple(sorted(hosts)))


def _of(row: LiveRow) -> HostNews:
    # Ids of applications of one cluster are told apart by their start.
    return HostNews(row.cluster, f"{row.app_id}@{row.app_start_ms}", row.app_id, row.window_end_ms)
