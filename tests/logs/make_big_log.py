"""Create the large event logs that the benches read: ``python tests/logs/make_big_log.py``, into build/bench-logs.

The log of a real run, about 20 MB, is repeated with shifted ids and times until it is one log of a long run.
Existing files are kept; delete the folder to create them again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.logs.make_logs import STAGE, Log, run, spark_home  # noqa: E402  a script, run by path from anywhere

FOLDER = ROOT / "build" / "bench-logs"
BIG_BYTES = 650_000_000
SMALL_BYTES = 1_000_000
SMALL_LOGS = 1000
COMPRESSED = {"zstd": "big.zstd", "lz4": "big.lz4", "snappy": "big.snappy", "lzf": "big.lzf", "gzip": "big.gz"}

ONCE = re.compile(
    rb'\{"Event":"SparkListener(LogStart|Application|EnvironmentUpdate|Executor(Added|Removed)|BlockManager|Resource)'
)
"""Events that an application has once."""
NUMBERS = re.compile(
    rb'"(?P<key>Task ID|Stage ID|Job ID|executionId|rootExecutionId|Launch Time|Finish Time|Getting Result Time'
    rb'|Submission Time|Completion Time|Timestamp|time|spark\.sql\.execution\.id)":"?(?P<number>[0-9]+)'
    rb'|"Stage IDs":\[(?P<stages>[0-9,]+)'
    rb'|"Parent IDs":\[(?P<parents>[0-9,]+)(?=\],"Details")'
)
STAGE_ID, TIME = 1, 4
KINDS = {
    b"Task ID": 0, b"Stage ID": STAGE_ID, b"Job ID": 2,
    b"executionId": 3, b"rootExecutionId": 3, b"spark.sql.execution.id": 3,
}  # fmt: skip
"""The numbers of other keys are times. ``Parent IDs`` that ``Details`` do not follow are RDDs, not stages."""


class Repeated:
    """The lines of a log as templates, so that each line of a copy needs only one formatting operation."""

    def __init__(self, log: bytes) -> None:
        lines = log.splitlines(keepends=True)
        self.head = [line for line in lines if ONCE.match(line) and b"ApplicationEnd" not in line[:60]]
        self.end = next(line for line in lines if b"ApplicationEnd" in line[:60])
        self._lines = [template(line) for line in lines if not ONCE.match(line)]
        numbers = [(kind, value) for _, kinds, values in self._lines for kind, value in zip(kinds, values, strict=True)]
        self._steps = [1 + max(value for kind, value in numbers if kind == which) for which in range(TIME)]
        times = [value for kind, value in numbers if kind == TIME and value]
        self._steps.append(1000 + max(times) - min(times))

    def copy(self, number: int) -> bytes:
        """Return the ``number``-th repetition of the log's body; times of 0 stay 0."""
        shifts = [step * number for step in self._steps]
        pieces = []
        for text, kinds, values in self._lines:
            pairs = zip(kinds, values, strict=True)
            pieces.append(text % tuple(value + shifts[kind] if value or kind != TIME else 0 for kind, value in pairs))
        return b"".join(pieces)

    def log(self, size: int) -> Iterator[bytes]:
        """Yield the pieces of one log of at least ``size`` bytes."""
        yield from self.head
        written = number = 0
        while written < size:
            piece = self.copy(number)
            written, number = written + len(piece), number + 1
            yield piece
        yield self.end


def template(line: bytes) -> tuple[bytes, list[int], list[int]]:
    """Return the line with ``%d`` in place of its ids and times, the kinds of these numbers, and their values."""
    text, kinds, values, at = b"", [], [], 0
    for found in NUMBERS.finditer(line):
        part = next(name for name in ("number", "stages", "parents") if found[name] is not None)
        start, end = found.span(part)
        numbers = line[start:end].split(b",")
        text += line[at:start].replace(b"%", b"%%") + b",".join([b"%d"] * len(numbers))
        kinds += [KINDS.get(found["key"], TIME) if part == "number" else STAGE_ID] * len(numbers)
        values += [int(number) for number in numbers]
        at = end
    return text + line[at:].replace(b"%", b"%%"), kinds, values


def base() -> bytes:
    """Return the log of a real run; the run is recorded at the first call."""
    kept = FOLDER / "base.log"
    if not kept.exists():
        folder = run(Log("wide"), STAGE / "events" / "wide")
        shutil.copy(next(path for path in folder.iterdir() if path.suffix != ".crc"), kept)
    return kept.read_bytes()


def write(path: Path, pieces: Iterator[bytes]) -> None:
    """Write the file completely or not at all."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.writelines(pieces)
    part.replace(path)


def write_small(log: bytes) -> None:
    """Write a thousand logs of one application each; each log has the run's first jobs with different ids and times."""
    folder = FOLDER / "small"
    folder.mkdir(exist_ok=True)
    ends_of_jobs = [found.start() for found in re.finditer(rb'\{"Event":"SparkListenerJobEnd"', log)]
    end_of_job = min(ends_of_jobs, key=lambda start: abs(start - SMALL_BYTES))
    cut = log.index(b"\n", end_of_job) + 1
    first = Repeated(log[:cut] + log[log.rindex(b'{"Event":"SparkListenerApplicationEnd"') :])
    name = re.search(rb'"App ID":"([^"]+)"', log)
    assert name is not None
    for number in range(SMALL_LOGS):
        head = b"".join(first.head).replace(name[1], name[1] + b"%04d" % number)
        write(folder / f"local-{number:04}.log", iter([head, first.copy(number), first.end]))


def compress(plain: Path) -> None:
    """Write the log in all compressed formats with Spark's own stream classes."""
    wanted = [f"{codec}={FOLDER / name}" for codec, name in COMPRESSED.items() if not (FOLDER / name).exists()]
    if wanted:
        jars = spark_home("spark35") / "jars" / "*"
        program = Path(__file__).with_name("Compress.java")
        subprocess.run(["java", "-cp", str(jars), str(program), str(plain), *wanted], check=True)


def make() -> Path:
    """Create the missing files and return their folder."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    last = FOLDER / "small" / f"local-{SMALL_LOGS - 1:04}.log"
    if last.exists() and all((FOLDER / name).exists() for name in ("big.log", "double.log", *COMPRESSED.values())):
        return FOLDER
    log = base()
    repeated = Repeated(log)
    write(FOLDER / "big.log", repeated.log(BIG_BYTES))
    write(FOLDER / "double.log", repeated.log(2 * BIG_BYTES))
    write_small(log)
    compress(FOLDER / "big.log")
    return FOLDER


if __name__ == "__main__":
    make()
    for each in sorted(FOLDER.iterdir()):
        print(each.name, sum(path.stat().st_size for path in each.iterdir()) if each.is_dir() else each.stat().st_size)
