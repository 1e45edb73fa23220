"""Hosts: rows of host_live from what all applications of a cluster meet on the hosts that they share.

One cluster is one key, so that "elsewhere" can be told. Rows come at the end of a window, for the hosts that somebody
met something on in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import (
    WINDOW_MS,
    HostIndex,
    HostObservations,
    host_columns,
    observe,
    recent_only,
)
from sparkfuse_stream_jobs.detect.host_news import HostNews
from sparkfuse_stream_jobs.detect.lifecycle import Wake
from sparkfuse_stream_jobs.detect.memory import Cell, HeldCell, HeldShelf, Shelf

VIEW = "host_live"
# Applications of one cluster that are remembered at once, and hosts that a window may have rows for.
MAX_APPLICATIONS = 5_000
MAX_ROWS = 500
FORGET_EVERY_MS = 60_000


@dataclass(frozen=True)
class News:
    """The hosts that rows are due for, of which cluster, and how many applications are remembered."""

    cluster: str = ""
    hosts: tuple[str, ...] = ()
    applications: int = 0


@dataclass(frozen=True)
class Memory:
    """What is remembered of one cluster: what each application met, and what is to be said."""

    met: Shelf[HostObservations]
    news: Cell[News]


def held_memory() -> Memory:
    """A memory in the process, for tests and for replays without Flink."""
    return Memory(HeldShelf(), HeldCell())


def hear(told: HostNews, memory: Memory) -> Iterator[Wake]:
    """Take in what an application tells; asks to be woken when rows are due, and when what it said is forgotten."""
    news, known = memory.news.get() or News(told.cluster), memory.met.get(told.app_key)
    count = news.applications + (known is None)
    if count > MAX_APPLICATIONS:
        return
    memory.met.put(told.app_key, observe(known or HostObservations(told.app_id), told.at_ms, told.ran, told.troubles))
    fresh = dict.fromkeys((*news.hosts, *(trouble.host for trouble in told.troubles)))
    memory.news.put(News(told.cluster, tuple(fresh)[:MAX_ROWS], count))
    if told.troubles:
        yield Wake(told.at_ms)
    yield Wake((told.at_ms + WINDOW_MS) // FORGET_EVERY_MS * FORGET_EVERY_MS + FORGET_EVERY_MS)


def wake(now_ms: int, memory: Memory) -> Iterator[LiveRow]:
    """The rows that are due at ``now_ms``, the end of a window; what is older than ten minutes is let go."""
    news = memory.news.get()
    if news is None:
        return
    everyone = _forget(now_ms, memory)
    neighbours = HostIndex(everyone)
    for host in sorted(news.hosts):
        yield _row(news.cluster, host, now_ms, neighbours)
    if everyone:
        memory.news.put(News(news.cluster, (), len(everyone)))
    else:
        memory.news.clear()


def _forget(now_ms: int, memory: Memory) -> list[HostObservations]:
    """Let go of what is no longer lately; gives what is left."""
    left = []
    for name, known in memory.met.items():
        kept = recent_only(known, now_ms)
        if not kept.ran:  # whoever meets something on a host runs there
            memory.met.remove(name)
            continue
        if kept != known:
            memory.met.put(name, kept)
        left.append(kept)
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
        # It counts what was seen; facts that were lost could only add to it.
        completeness=1.0,
        job_key=f"host {host}",
        run_key=host,
        host=host_columns(host, neighbours),
    )
