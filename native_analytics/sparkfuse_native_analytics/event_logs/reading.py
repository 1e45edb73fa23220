"""Reads event logs with the kernel; all other modules of this component read logs through this module."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sparkfuse_kernel.event_logs.log import Log, NoEventLogError, UnreadableLogError
from sparkfuse_native_analytics.event_logs.scrubbed import scrubbed
from sparkfuse_native_analytics.event_logs.table_rows import LogEvidence

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkfuse_kernel import Batches

THREADS = 2
# Maximum number of logs that are read ahead, before the caller requests them.
PREFETCHED_LOGS = 4
StageKey = tuple[int, int]


@dataclass(frozen=True)
class LogTables:
    """The tables of one log by name (listed in docs/analyze.md), and the reader's evidence about the log."""

    log: Log
    evidence: LogEvidence
    batches: Callable[[str], Batches]

    def table(self, name: str) -> pa.Table:
        """Return a pyarrow table that shares the kernel's memory; secrets in texts that users wrote are masked."""
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
    """Read a whole log; damage inside a file is recorded in the evidence and not raised.

    ``environment`` lists the keys of the properties to keep (a key that ends in ``*`` is a prefix). ``tables`` may
    contain ``tasks`` and ``task_starts``, which are read only on request; ``tasks_of`` limits their rows to these stage
    attempts. Raises UnreadableLogError if a file cannot be opened, and NoEventLogError if the log contains no event.
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
        raise UnreadableLogError(f"{log.name}: cannot be read: {' '.join(str(error).split())}") from error
    evidence = cast(LogEvidence, read.evidence)
    if not evidence["events"]:
        raise NoEventLogError(f"{log.name}: not a Spark event log: {_reason_without_events(evidence)}")
    return LogTables(log, evidence, lambda name: getattr(read, name))


def read_logs(logs: Sequence[Log], *, environment: Sequence[str] = ()) -> Iterator[LogTables | UnreadableLogError]:
    """Read logs in parallel and yield their tables in order, or the error of a log that cannot be read."""

    def read(log: Log) -> LogTables | UnreadableLogError:
        try:
            return read_log(log, environment=environment, threads=1)
        except UnreadableLogError as error:
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        waiting = deque(pool.submit(read, log) for log in logs[:PREFETCHED_LOGS])
        for place in range(len(logs)):
            yield waiting.popleft().result()
            if place + PREFETCHED_LOGS < len(logs):
                waiting.append(pool.submit(read, logs[place + PREFETCHED_LOGS]))


def _reason_without_events(evidence: LogEvidence) -> str:
    for file in evidence["files"]:
        if file["error"]:
            return str(file["error"])
    if evidence["malformed_lines"]:
        return str(evidence["malformed_lines"][0]["reason"])
    return "not one of its lines is an event"
