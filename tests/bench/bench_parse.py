"""Measures how fast the kernel, ``cat`` and DuckDB read event logs: plain and compressed, large and small ones.

``python -m tests.bench.bench_parse [--write]`` needs a quiet machine. The bench creates missing logs with
tests/logs/make_big_log.py. With ``--write``, the section "Event logs" of docs/benchmarks.md is replaced. Each
measurement is a separate process. The readers take turns, and the best turn of each is reported.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sparkfuse_kernel import EventLog
from tests.bench.bench_kernel import machine
from tests.logs.make_big_log import COMPRESSED, FOLDER, SMALL_LOGS

ROOT = Path(__file__).parents[2]
HEADING = "## Event logs"
THREADS = 2
RUNS_A_TURN = 2
"""The first run of a process is slower."""
BIG = FOLDER / "big.log"
DOUBLE = FOLDER / "double.log"
ONE = FOLDER / "small" / "local-0000.log"
SPARKFUSE = Path(sys.executable).with_name("sparkfuse")
FIELDS = """{
  'Event': 'VARCHAR', 'Stage ID': 'BIGINT', 'Stage Attempt ID': 'BIGINT',
  'Task End Reason': 'STRUCT("Reason" VARCHAR)',
  'Task Info': 'STRUCT("Launch Time" BIGINT, "Finish Time" BIGINT)',
  'Task Metrics': 'STRUCT("Executor Run Time" BIGINT, "Disk Bytes Spilled" BIGINT,
    "Shuffle Read Metrics" STRUCT("Remote Bytes Read" BIGINT, "Local Bytes Read" BIGINT))'
}"""
"""The ten fields of the query, so that DuckDB need not detect them."""
QUERY = """
WITH ended AS (
  SELECT "Stage ID" AS stage_id, "Stage Attempt ID" AS stage_attempt, "Task End Reason".Reason = 'Success' AS succeeded,
    "Task Info"."Finish Time" - "Task Info"."Launch Time" AS wall_ms, "Task Metrics" AS metrics
  FROM read_json('{path}', columns = {fields}, format = 'newline_delimited', maximum_object_size = 134217728)
  WHERE "Event" = 'SparkListenerTaskEnd'
)
SELECT stage_id, stage_attempt, count(*) AS tasks, count(*) FILTER (succeeded) AS succeeded,
  sum(metrics."Executor Run Time") AS run_ms, sum(metrics."Disk Bytes Spilled") AS disk_spilled_bytes,
  sum(metrics."Shuffle Read Metrics"."Remote Bytes Read" + metrics."Shuffle Read Metrics"."Local Bytes Read")
    AS shuffle_read_bytes,
  min(wall_ms) FILTER (succeeded), median(wall_ms) FILTER (succeeded),
  quantile_disc(wall_ms, 0.95) FILTER (succeeded) AS p95, max(wall_ms) FILTER (succeeded)
FROM ended GROUP BY ALL ORDER BY ALL
"""
"""``quantile_disc`` is the nearest rank, as in the kernel; a check compares both results before the rounds."""


@dataclass
class Figures:
    """The smallest wall seconds and CPU seconds of several turns, and the largest peak of memory."""

    wall: float = float("inf")
    cpu: float = float("inf")
    peak_mib: float = 0.0

    def add(self, wall: float, cpu: float, peak_mib: float) -> None:
        """Add the figures of one turn: keep the smallest times and the largest peak of memory."""
        self.wall, self.cpu, self.peak_mib = min(self.wall, wall), min(self.cpu, cpu), max(self.peak_mib, peak_mib)


# ---- work that is measured in a separate process, without the time of imports


def read_tables(path: Path, threads: int = THREADS) -> EventLog:
    """Read all tables, tasks included."""
    import sparkfuse_kernel

    return sparkfuse_kernel.read_event_log([path], threads=threads, tables=("tasks",))


def read_stages(path: Path) -> object:
    """Read all tables except the task tables."""
    import sparkfuse_kernel

    return sparkfuse_kernel.read_event_log([path], threads=THREADS)


def stream_tasks(path: Path) -> object:
    """Read task rows as a stream, then the other tables."""
    import pyarrow as pa

    import sparkfuse_kernel

    log = sparkfuse_kernel.open_event_log([path], threads=THREADS)
    rows = sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(log))
    return rows, log.finish()


def read_many(folder: Path) -> object:
    """Read a folder of logs in one call, and drop the tables of each log before the next one."""
    import sparkfuse_kernel

    logs = [[path] for path in sorted(folder.iterdir())]
    count = sum(1 for _ in sparkfuse_kernel.read_event_logs(logs, threads=THREADS, tables=("tasks",)))
    assert count == SMALL_LOGS
    return count


def query(path: Path) -> list[tuple[int, ...]]:
    """Return DuckDB's result, one row for each stage attempt."""
    import duckdb

    connection = duckdb.connect(config={"threads": THREADS})
    return connection.sql(QUERY.format(path=path, fields=FIELDS)).fetchall()


def check(path: Path) -> object:
    """Check that the kernel and DuckDB have the same result for every stage attempt."""
    import pyarrow as pa

    log = read_tables(path)
    stages = pa.table(log.stages).to_pylist()
    ours = [
        (stage["stage_id"], stage["stage_attempt"], stage["tasks"], stage["succeeded"], stage["run_ms"],
         stage["disk_spilled_bytes"], stage["shuffle_read_bytes"],
         *(stage["wall_ms"][name] for name in ("min", "median", "p95", "max")))
        for stage in stages
    ]  # fmt: skip
    assert ours == query(path)
    return None


WORK: dict[str, Callable[[Path], object]] = {
    "tables": read_tables,
    "one-thread": lambda path: read_tables(path, 1),
    "stages": read_stages,
    "stream": stream_tasks,
    "many": read_many,
    "duckdb": query,
    "check": check,
}


def work(name: str, path: Path, runs: int) -> None:
    """Run the work in this process and print the smallest wall and CPU seconds, without imports."""
    import pyarrow as pa  # noqa: F401  imported here, so that the import is not measured

    if name == "duckdb":
        import duckdb  # noqa: F401
    else:
        import sparkfuse_kernel  # noqa: F401
    best = [float("inf"), float("inf")]
    for _ in range(runs):
        wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        kept = WORK[name](path)
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = [min(best[0], time.perf_counter() - wall), min(best[1], cpu)]
        del kept
    print(json.dumps(best))


# ---- turns


@dataclass(frozen=True)
class Subject:
    """One reader with its input: its name in the table, the decompressed bytes that it reads, and its command."""

    name: str
    plain_bytes: int
    command: list[str]
    inside: bool = True
    """Whether the process measures itself; otherwise the measurement includes the start of the process."""
    allowed: tuple[int, ...] = (0,)

    def turn(self, figures: Figures) -> None:
        """Run the command once."""
        began = time.perf_counter()
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE if self.inside else subprocess.DEVNULL)
        output = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        wall, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in self.allowed:
            raise SystemExit(f"{self.name} ended with {process.returncode}")
        if self.inside:
            wall, cpu = json.loads(output)
        figures.add(wall, cpu, usage.ru_maxrss / 1024)


def worker(name: str, path: Path, runs: int = RUNS_A_TURN) -> list[str]:
    """Return the command of a process that runs the work several times."""
    return [sys.executable, "-m", "tests.bench.bench_parse", "--work", name, str(path), str(runs)]


def subjects() -> dict[str, Subject]:
    """Return all readers, in the order of their turns."""
    big, double = BIG.stat().st_size, DOUBLE.stat().st_size
    small = sum(path.stat().st_size for path in (FOLDER / "small").iterdir())
    found = {
        "cat": Subject("`cat > /dev/null`, a process", big, ["cat", str(BIG)], inside=False),
        "duckdb": Subject("DuckDB, `read_json` of ten fields, per stage", big, worker("duckdb", BIG)),
        "tables": Subject("kernel, tasks and stages, per stage", big, worker("tables", BIG)),
        "one": Subject("kernel, tasks and stages, on one thread", big, worker("one-thread", BIG)),
        "stages": Subject("kernel, all tables except tasks", big, worker("stages", BIG)),
        "stream": Subject("kernel, tasks as a stream", big, worker("stream", BIG)),
        **{
            codec: Subject(f"kernel, tasks and stages, {codec}", big, worker("tables", FOLDER / name))
            for codec, name in COMPRESSED.items()
        },
        "double stages": Subject("all tables except tasks, twice the log", double, worker("stages", DOUBLE)),
        "double stream": Subject("tasks as a stream, twice the log", double, worker("stream", DOUBLE)),
        "many": Subject(f"kernel, {SMALL_LOGS} logs of 1 MB in one call", small, worker("many", FOLDER / "small")),
        "duckdb process": Subject("DuckDB's query, a process", big, worker("duckdb", BIG, 1), inside=False),
    }
    # analyze returns 1 if there are findings.
    for name, path in (("analyze", BIG), ("analyze one", ONE)):
        size = path.stat().st_size
        command = [str(SPARKFUSE), "analyze", str(path)]
        label = f"`sparkfuse analyze`, {size / 1e6:.0f} MB, a process"
        found[name] = Subject(label, size, command, inside=False, allowed=(0, 1))
    return found


def measure(found: dict[str, Subject], rounds: int) -> dict[str, Figures]:
    """Run all readers in turn for several rounds."""
    figures = {name: Figures() for name in found}
    for _ in range(rounds):
        for name, subject in found.items():
            subject.turn(figures[name])
    return figures


# ---- results


def table(found: dict[str, Subject], figures: dict[str, Figures]) -> str:
    """Return the table of results, one row for each reader."""
    lines = [
        "| subject | wall s | MB/s | CPU s | MB per CPU s | peak MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, subject in found.items():
        own, size = figures[name], subject.plain_bytes / 1e6
        lines.append(
            f"| {subject.name} | {own.wall:.3f} | {size / own.wall:.0f} | {own.cpu:.3f} | {size / own.cpu:.0f} "
            f"| {own.peak_mib:.0f} |"
        )
    return "\n".join(lines)


def targets(found: dict[str, Subject], figures: dict[str, Figures]) -> str:
    """Return the table of targets: the required and the measured value of each."""
    tables = figures["tables"]

    def rate(name: str) -> float:
        return found[name].plain_bytes / figures[name].wall

    rows = [
        ("speed relative to DuckDB, wall time", "2.5", figures["duckdb"].wall / tables.wall),
        ("speed relative to DuckDB, CPU time", "2.5", figures["duckdb"].cpu / tables.cpu),
        ("speed relative to `cat`", "0.5", figures["cat"].wall / tables.wall),
        *(
            (
                f"speed of {codec} relative to plain",
                "0.33" if codec in {"lzf", "gzip"} else "0.5",
                rate(codec) / rate("tables"),
            )
            for codec in COMPRESSED
        ),
        (f"speed of {SMALL_LOGS} small logs relative to the large one", "0.7", rate("many") / rate("tables")),
        (
            "speed of `analyze` relative to DuckDB's query, wall time",
            "1",
            figures["duckdb process"].wall / figures["analyze"].wall,
        ),
    ]
    lines = ["| target | at least | measured |", "| --- | --- | --- |"]
    lines += [f"| {name} | {required} | {value:.2f} |" for name, required, value in rows]
    lines += ["", "| target | at most | measured |", "| --- | --- | --- |"]
    peaks = {"stages": BIG, "stream": BIG, "double stages": DOUBLE, "double stream": DOUBLE}
    for name, path in peaks.items():
        lines.append(
            f"| {found[name].name}: memory, {path.stat().st_size / 1e6:.0f} MB | 200 MiB "
            f"| {figures[name].peak_mib:.0f} MiB |"
        )
    lines.append(f"| {found['analyze one'].name} | 1 s | {figures['analyze one'].wall:.2f} s |")
    return "\n".join(lines)


def write(text: str, rounds: int, where: str) -> None:
    """Replace the section in docs/benchmarks.md."""
    import duckdb

    document = ROOT / "docs" / "benchmarks.md"
    section = "\n".join((
        HEADING,
        "",
        f"`make bench-parse`, {dt.datetime.now(dt.UTC).date().isoformat()}, {where}.",
        "The large log repeats the log of a real run with shifted ids and times (`tests/logs/make_big_log.py`).",
        "Spark's own stream classes write its compressed forms.",
        f"Each measurement is a separate process. The subjects take turns, and the best of {rounds} counts.",
        'Imports are excluded, except in the rows named "a process".',
        f"DuckDB {duckdb.__version__}, {THREADS} threads each; its result equals the kernel's.",
        "Peak memory includes Python and Arrow.",
        "",
        text,
    ))  # fmt: skip
    kept = document.read_text()
    pattern = re.compile(rf"^{HEADING}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(kept):
        kept = pattern.sub(lambda _: section + "\n\n", kept)
    else:
        kept = kept.rstrip("\n") + "\n\n" + section + "\n"
    document.write_text(kept.rstrip("\n") + "\n")


def main() -> None:
    """Print the figures, and write them to the document if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], metavar="SUBJECT", help="subjects to leave out")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--work", nargs=3, metavar=("NAME", "PATH", "RUNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], Path(options.work[1]), int(options.work[2]))
        return
    where = machine()
    # Both run in other processes, because children would inherit this process's peak of memory.
    subprocess.run([sys.executable, str(ROOT / "tests" / "logs" / "make_big_log.py")], check=True)
    subprocess.run(worker("check", BIG, 1), check=True, stdout=subprocess.DEVNULL)
    found = {name: subject for name, subject in subjects().items() if name not in options.without}
    figures = measure(found, options.rounds)
    text = table(found, figures)
    if not options.without:
        text += "\n\n" + targets(found, figures)
    print(where)
    print(text)
    if options.write:
        write(text, options.rounds, where)


if __name__ == "__main__":
    main()
