"""Print every difference between the kernel and the oracle: ``python tests/oracle/compare.py PATH…``.

All logs at or below the given paths are compared. The exit code is 1 if there is a difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import pyarrow as pa

import sparkfuse_kernel
from tests.oracle.event_log import Oracle, read_event_log
from tests.oracle.find import find_logs
from tests.oracle.values import Row

KEYS = {
    "applications": ("app_id", "attempt"),
    "jobs": ("job_id",),
    "executors": ("executor_id",),
    "stages": ("stage_id", "stage_attempt"),
}
"""Tables that both kernel and oracle have, and the columns that identify a row."""
TASK_TABLES = ("tasks", "task_starts")
"""Tables that are compared row by row, because kernel and oracle return the rows in the order of the log."""
QUERY_TABLES = ("sql_executions", "plan_nodes", "accumulators", "executor_metrics", "streaming_progress")
"""Tables that are compared as sets of rows."""
KERNEL_COLUMNS = {"stages": ("call_site",), "sql_executions": ("call_site",), "plan_nodes": ("detail",)}
"""Columns that only the kernel has; their cases are in contracts/shared."""
FILE_VALUES = ("codec", "bytes", "plain_bytes", "lines", "truncated")
EVIDENCE_VALUES = ("plain_bytes", "events", "events_by_kind", "malformed", "truncated", "complete", "unfinished_tasks",
                   "duplicate_task_ends", "odd_values")  # fmt: skip
MAX_SHOWN = 20


def differences(kernel: Any, oracle: Oracle) -> Iterator[str]:
    """Yield every difference, with the kernel's value before the oracle's."""
    for table, keys in KEYS.items():
        ours = {tuple(row[key] for key in keys): row for row in kernel_rows(kernel, table)}
        theirs = {tuple(row[key] for key in keys): row for row in getattr(oracle, table)}
        for key in sorted(ours.keys() | theirs.keys(), key=str):
            yield from row_differences(f"{table} {key}", ours.get(key), theirs.get(key))
    yield from row_list_differences("failures", pa.table(kernel.failures).to_pylist(), oracle.failures.rows)
    for table in TASK_TABLES:
        yield from row_list_differences(table, pa.table(getattr(kernel, table)).to_pylist(), getattr(oracle, table))
    for table in QUERY_TABLES:
        yield from row_set_differences(table, kernel_rows(kernel, table), getattr(oracle.queries, table))
    yield from evidence_differences(kernel.evidence, oracle.evidence)


def kernel_rows(kernel: Any, table: str) -> list[Row]:
    """Return the kernel's rows of a table without the columns that the oracle does not have."""
    rows: list[Row] = pa.table(getattr(kernel, table)).drop(KERNEL_COLUMNS.get(table, ())).to_pylist()
    return rows


def row_list_differences(table: str, ours: Sequence[Row], theirs: Sequence[Row]) -> Iterator[str]:
    """Yield the differences between two lists of rows in the same order."""
    if len(ours) != len(theirs):
        yield f"{table}: {len(ours)} rows != {len(theirs)}"
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        yield from row_differences(f"{table}[{index}]", one, other)


def row_set_differences(table: str, ours: Sequence[Row], theirs: Sequence[Row]) -> Iterator[str]:
    """Yield the rows that only one of two lists has; their order does not matter."""
    if sorted(map(row_text, ours)) != sorted(map(row_text, theirs)):
        yield f"{table}: the kernel has {len(ours)} rows, the oracle {len(theirs)}"
        yield from (f"{table}: only the kernel has {row}" for row in ours if row not in theirs)
        yield from (f"{table}: only the oracle has {row}" for row in theirs if row not in ours)


def row_text(row: Row) -> str:
    """Return a row as text, to sort rows."""
    return str(sorted(row.items()))


def row_differences(where: str, kernel: Row | None, oracle: Row | None) -> Iterator[str]:
    """Yield the columns in which two rows differ."""
    if kernel is None or oracle is None:
        yield f"{where}: {'only the oracle' if kernel is None else 'only the kernel'} has it"
        return
    for column in oracle.keys() | kernel.keys():
        if column not in kernel or column not in oracle:
            yield f"{where}.{column}: {'no such column' if column not in kernel else 'a column the oracle lacks'}"
        elif kernel[column] != oracle[column]:
            yield f"{where}.{column}: {kernel[column]!r} != {oracle[column]!r}"


def evidence_differences(kernel: Mapping[str, Any], oracle: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between the evidence of the kernel and of the oracle."""
    for name in EVIDENCE_VALUES:
        if kernel[name] != oracle[name]:
            yield f"evidence.{name}: {kernel[name]!r} != {oracle[name]!r}"
    ours, theirs = ([bad_line(line) for line in each["malformed_lines"]] for each in (kernel, oracle))
    if ours != theirs:
        yield f"evidence.malformed_lines: {ours!r} != {theirs!r}"
    for index, (one, other) in enumerate(zip(kernel["files"], oracle["files"], strict=True)):
        for name in FILE_VALUES:
            if one[name] != other[name]:
                yield f"evidence.files[{index}].{name}: {one[name]!r} != {other[name]!r}"
        if (one["error"] is None) != (other["error"] is None):
            yield f"evidence.files[{index}].error: {one['error']!r} != {other['error']!r}"


def bad_line(line: Mapping[str, Any]) -> tuple[str, int, int]:
    """Return only the place of a malformed line, because each reader words the reason differently."""
    return Path(line["file"]).name, line["line"], line["offset"]


def compare(paths: Sequence[Path], threads: int = 2) -> list[str]:
    """Return the differences for the files of one log."""
    kernel = sparkfuse_kernel.read_event_log([str(path) for path in paths], threads=threads, tables=TASK_TABLES)
    return list(differences(kernel, read_event_log(paths)))


def main() -> int:
    """Compare all logs and return the exit code."""
    logs = list(find_logs(map(Path, sys.argv[1:])))
    different = 0
    for where, paths in logs:
        found = compare(paths)
        different += bool(found)
        print(f"{where}: {len(found)} differences" if found else f"{where}: equal", flush=True)
        for line in found[:MAX_SHOWN]:
            print("   ", line[:400])
    print(f"{len(logs)} logs, {different} with differences")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
