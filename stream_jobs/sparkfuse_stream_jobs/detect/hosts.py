"""Rows of ``host_live``, computed from what all applications of a cluster observe on the hosts that they share.

One cluster is one key, because a host is compared with the other hosts of its cluster. Rows are emitted at the end of
a window, for each host on which an application reported a problem in that window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import WINDOW_MS, HostIndex, HostObservations, host_columns, observe, recent_only
from sparkfuse_stream_jobs.detect.host_observations import HostReport
from sparkfuse_stream_jobs.detect.lifecycle_state import Timer
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState, InMemoryValueState, MapState, ValueState

VIEW = "host_live"
# Maximum numbers per cluster: applications that are stored at the same time, and hosts that get a row in one window.
MAX_APPLICATIONS = 5_000
MAX_ROWS = 500
EXPIRE_EVERY_MS = 60_000


@dataclass(frozen=True)
class DueHosts:
    """The hosts of a cluster that get a row at the end of the window, and how many applications are stored."""

    cluster: str = ""
    hosts: tuple[str, ...] = ()
    applications: int = 0


@dataclass(frozen=True)
class ClusterState:
    """The state of one cluster: the observations of each application, and the hosts that get a row."""

    observations: MapState[HostObservations]
    due: ValueState[DueHosts]


def in_memory_cluster_state() -> ClusterState:
    """Return a state in the memory of the process, for tests and for replays without Flink."""
    return ClusterState(InMemoryMapState(), InMemoryValueState())


def add_report(report: HostReport, state: ClusterState) -> Iterator[Timer]:
    """Store what an application reports. Returns timers for the rows and for the expiry of the observations."""
    due, known = state.due.value() or DueHosts(report.cluster), state.observations.get(report.app_key)
    count = due.applications + (known is None)
    if count > MAX_APPLICATIONS:
        return
    observation = observe(known or HostObservations(report.app_id), report.at_ms, report.ran, report.problems)
    state.observations.put(report.app_key, observation)
    hosts = dict.fromkeys((*due.hosts, *(problem.host for problem in report.problems)))
    state.due.update(DueHosts(report.cluster, tuple(hosts)[:MAX_ROWS], count))
    if report.problems:
        yield Timer(report.at_ms)
    yield Timer((report.at_ms + WINDOW_MS) // EXPIRE_EVERY_MS * EXPIRE_EVERY_MS + EXPIRE_EVERY_MS)


def due_rows(now_ms: int, state: ClusterState) -> Iterator[LiveRow]:
    """Return the rows of the window that ends at ``now_ms``, and drop observations older than ten minutes."""
    due = state.due.value()
    if due is None:
        return
    recent = _drop_expired(now_ms, state)
    neighbours = HostIndex(recent)
    for host in sorted(due.hosts):
        yield _row(due.cluster, host, now_ms, neighbours)
    if recent:
        state.due.update(DueHosts(due.cluster, (), len(recent)))
    else:
        state.due.clear()


def _drop_expired(now_ms: int, state: ClusterState) -> list[HostObservations]:
    """Drop expired observations and return the remaining ones."""
    left = []
    for name, known in state.observations.items():
        recent = recent_only(known, now_ms)
        if not recent.ran:  # an application that observes a problem on a host also runs there
            state.observations.remove(name)
            continue
        if recent != known:
            state.observations.put(name, recent)
        left.append(recent)
    return left


def _row(cluster: str, host: str, now_ms: int, neighbours: HostIndex) -> LiveRow:
    return LiveRow(
        view=VIEW,
        cluster=cluster,
        tenant="",
        app_id=f"host/{host}",
        app_attempt=0,
        app_start_ms=0,
        window_end_ms=now_ms,
        # The row contains the number of observed problems; if facts were lost, the true number can only be higher.
        completeness=1.0,
        job_key=f"host {host}",
        run_key=host,
        host=host_columns(host, neighbours),
    )
