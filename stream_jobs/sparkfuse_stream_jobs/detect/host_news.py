"""What an application tells of the hosts that it shares with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import (
    MIN_LOST_MS,
    MIN_LOST_SHARE,
    MIN_STALLED_MS,
    MIN_SUCCEEDED,
    HostProblem,
    problem_of_failure,
    problem_of_loss,
    problem_of_stage,
    problem_of_task,
)
from sparkfuse_stream_jobs.detect.rows import Columns
from sparkfuse_stream_jobs.detect.run_memory import Memory, application_of

# How often an application says on which hosts its tasks run: often enough for ten minutes that slide.
TELL_EVERY_MS = 120_000
_TROUBLE_OF = {
    "failure": problem_of_failure,
    "executor_loss": problem_of_loss,
    "stage": problem_of_stage,
    "task": problem_of_task,
}


@dataclass(frozen=True)
class HostNews:
    """Of one application in one window: the hosts that its tasks run on, and what it met on hosts."""

    cluster: str
    app_key: str
    app_id: str
    at_ms: int
    ran: tuple[str, ...] = ()
    troubles: tuple[HostProblem, ...] = ()


def host_news(row: LiveRow, memory: Memory) -> Iterator[HostNews]:
    """What the row, with all that detection knows of it, tells of hosts."""
    if row.HasField("application"):
        yield from _where_it_runs(row, memory)
    elif trouble := _trouble(row):
        yield replace(_of(row), troubles=(trouble,))


def together(told: Iterable[HostNews]) -> Iterator[HostNews]:
    """What an application tells of one window, as one: for each the next step turns to its cluster and writes."""
    of_window: dict[tuple[str, str, int], list[HostNews]] = {}
    for news in told:
        of_window.setdefault((news.cluster, news.app_key, news.at_ms), []).append(news)
    for several in of_window.values():
        ran = dict.fromkeys(host for news in several for host in news.ran)
        troubles = (trouble for news in several for trouble in news.troubles)
        yield replace(several[0], ran=tuple(ran), troubles=tuple(troubles))


def _trouble(row: LiveRow) -> HostProblem | None:
    kind = row.WhichOneof("row") or ""
    return _TROUBLE_OF[kind](Columns(getattr(row, kind))) if kind in _TROUBLE_OF and not _is_fine(row) else None


def _is_fine(row: LiveRow) -> bool:
    """Whether it is plain at a glance that nothing is wrong; most rows are such."""
    if row.HasField("stage"):
        stage = row.stage
        lost = stage.slowest_task_lost_ms >= MIN_LOST_MS and stage.slowest_task_lost_share >= MIN_LOST_SHARE
        return not lost or stage.succeeded_tasks < MIN_SUCCEEDED
    return row.HasField("task") and row.task.stalled_ms < MIN_STALLED_MS


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
