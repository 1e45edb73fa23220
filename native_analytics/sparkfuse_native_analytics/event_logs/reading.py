"""Reads logs with the kernel; no other module calls it for event logs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sparkfuse_native_analytics.event_logs.log import Log, LogUnreadable, NoEventLog
from sparkfuse_native_analytics.event_logs.scrubbed import scrubbed

THREADS = 2
# Logs that are read ahead of whoever takes them.
AHEAD = 4
StageKey = tuple[int, int]


@dataclass(frozen=True)
class LogTables:
    """What one log says: tables by name (docs/analyze.md lists them) and the evidence that they rest on."""

    log: Log
    evidence: Mapping[str, Any]
    batches: Callable[[str], Any]

    def table(self, name: str) -> Any:
        """The table as pyarrow's, without copying what the kernel made; texts of users are scrubbed of secrets."""
        import pyarrow as pa

        return scrubbed(name, pa.table(self.batches(name)))


def read_log(
    log: Log,
    *,
    environment: Sequence[str] = (),
    tables: Sequence[str] = (),
    tasks_of: Iterable[StageKey] | None = None,
    threads: int = THREADS,
) -> LogTables:
    """Read a whole log, however broken it is inside.

    ``environment`` are the keys of properties to keep (one that ends in ``*`` is a prefix), ``tables`` asks for
    ``tasks`` or ``task_starts`` too, of the stage attempts ``tasks_of`` only, when given.
    Raises LogUnreadable when a file cannot be opened, NoEventLog when there is not a single event.
    """
    import sparkfuse_kernel

    try:
        read = sparkfuse_kernel.read_event_log(
            list(log.pieces),
            threads=threads,
            tables=list(tables),
            environment=list(environment),
            tasks_of=None if tasks_of is None else set(tasks_of),
        )
    except OSError as error:
        raise LogUnreadable(f"{log.name}: cannot be read: {' '.join(str(error).split())}") from error
    evidence: Mapping[str, Any] = read.evidence
    if not evidence["events"]:
        raise NoEventLog(f"{log.name}: it is no event log of Spark: {_why_nothing(evidence)}")
    return LogTables(log, evidence, lambda name: getattr(read, name))


def read_logs(logs: Sequence[Log], *, environment: Sequence[str] = ()) -> Iterator[LogTables | LogUnreadable]:
    """Read many logs side by side and give them in their order; for one that cannot be read, why."""

    def read(log: Log) -> LogTables | LogUnreadable:
        try:
            return read_log(log, environment=environment, threads=1)
        except LogUnreadable as unreadable:
            return unreadable

    with ThreadPoolExecutor(THREADS) as pool:
        waiting = deque(pool.submit(read, log) for log in logs[:AHEAD])
        for place in range(len(logs)):
            yield waiting.popleft().result()
            if place + AHEAD < len(logs):
                waiting.append(pool.submit(read, logs[place + AHEAD]))


def _why_nothing(evidence: Mapping[str, Any]) -> str:
    """What stands in the way of a first event."""
    for file in evidence["files"]:
        if file["error"]:
            return str(file["error"])
    if evidence["malformed_lines"]:
        return str(evidence["malformed_lines"][0]["reason"])
    return "not one of its lines is an event"
