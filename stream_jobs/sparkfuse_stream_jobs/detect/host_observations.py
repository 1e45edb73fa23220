"""Extracts from live rows the problems that an application observed on its hosts."""

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
from sparkfuse_stream_jobs.detect.row_columns import Columns
from sparkfuse_stream_jobs.detect.state.run_state import RunState, application_of

# Interval at which an application reports the hosts that run its tasks; host rows cover the last ten minutes.
REPORT_EVERY_MS = 120_000
_PROBLEM_OF = {
    "failure": problem_of_failure,
    "executor_loss": problem_of_loss,
    "stage": problem_of_stage,
    "task": problem_of_task,
}


@dataclass(frozen=True)
class HostReport:
    """What one application reports in one window: the hosts that run its tasks (``ran``), and problems on hosts."""

    cluster: str
    app_key: str
    app_id: str
    at_ms: int
    ran: tuple[str, ...] = ()
    problems: tuple[HostProblem, ...] = ()


def host_reports(row: LiveRow, state: RunState) -> Iterator[HostReport]:
    """Return what the row reports about hosts."""
    if row.HasField("application"):
        yield from _running_hosts(row, state)
    elif problem := _problem(row):
        yield replace(_empty_report(row), problems=(problem,))


def merge_reports(reports: Iterable[HostReport]) -> Iterator[HostReport]:
    """Merge the reports of one application and window.

    Fewer reports are cheaper, because the next step changes its key and writes its state for each report.
    """
    of_window: dict[tuple[str, str, int], list[HostReport]] = {}
    for report in reports:
        of_window.setdefault((report.cluster, report.app_key, report.at_ms), []).append(report)
    for several in of_window.values():
        ran = dict.fromkeys(host for report in several for host in report.ran)
        problems = (problem for report in several for problem in report.problems)
        yield replace(several[0], ran=tuple(ran), problems=tuple(problems))


def _problem(row: LiveRow) -> HostProblem | None:
    kind = row.WhichOneof("row") or ""
    return _PROBLEM_OF[kind](Columns(getattr(row, kind))) if kind in _PROBLEM_OF and not _is_healthy(row) else None


def _is_healthy(row: LiveRow) -> bool:
    """Return True if a cheap test shows that the row reports no problem, which is the case for most rows."""
    if row.HasField("stage"):
        stage = row.stage
        lost = stage.slowest_task_lost_ms >= MIN_LOST_MS and stage.slowest_task_lost_share >= MIN_LOST_SHARE
        return not lost or stage.succeeded_tasks < MIN_SUCCEEDED
    return row.HasField("task") and row.task.stalled_ms < MIN_STALLED_MS


def _running_hosts(row: LiveRow, state: RunState) -> Iterator[HostReport]:
    application = application_of(state)
    due_ms = application.hosts_reported_at_ms + REPORT_EVERY_MS
    if not row.application.running_tasks or row.window_end_ms < due_ms:
        return
    state.application.update(replace(application, hosts_reported_at_ms=row.window_end_ms))
    hosts = {executor.host for _, executor in state.executors.items() if executor.host}
    if hosts:
        yield replace(_empty_report(row), ran=tuple(sorted(hosts)))


def _empty_report(row: LiveRow) -> HostReport:
    # Two applications of one cluster may have the same id, but their start times differ.
    return HostReport(row.cluster, f"{row.app_id}@{row.app_start_ms}", row.app_id, row.window_end_ms)
