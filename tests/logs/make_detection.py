"""Record the runs of the detection corpus again: ``python tests/logs/make_detection.py [RUN…]``.

``tests/logs/detection/labels.yaml`` lists the findings that each run must have. A run takes 15 to 60 s.
Spark is run as in ``make_logs.py``, so that a log contains neither paths nor the name of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from backports import zstd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.logs import detection_data as data  # noqa: E402  a script, run by path from anywhere
from tests.logs.detection_data import Shape  # noqa: E402
from tests.logs.make_logs import CLUSTER, SETTINGS, STAGE, configuration, start  # noqa: E402
from tests.oracle.containers import unpack  # noqa: E402

CORPUS = Path(__file__).parent / "detection"
MAX_RUN_SECONDS = 900
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Without this setting, the JVM's second compiler would use half of the time of a small job."""
BUSY_CORES = 2
"""Number of processes that use one core each in a noisy run; a very noisy run has twice as many."""
TABLES = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.sql.shuffle.partitions": "8",
    # As with real amounts of data, joins shuffle both sides, and a stage has one task for each partition.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.files.maxPartitionBytes": "6m",
}
RETRIES = {"spark.master": "local[2,4]"}
SMALL_HEAP = {
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": QUICK_START,
    # With this setting lists stay objects on the heap and are not sorted outside it.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000000",
}
"""A heap that is full of live objects, so that garbage is collected all the time."""


@dataclass(frozen=True)
class Run:
    """One run to record: its job, arguments and settings, other load on the machine, and whether it must fail.

    A run without ``shape`` runs ``script`` with the arguments ``other``.
    """

    shape: Shape | None = None
    knobs: Mapping[str, float] = field(default_factory=dict)
    other: tuple[str, ...] = ()
    script: str = "detection_others.py"
    feed: float = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: str = "spark35"
    busy_cores: int = 0
    cold: bool = False
    fails: bool = False


def daily(size: float = 1.0, heavy: float = 0.0, copies: int = 1, day: str = "2024-05-01", **knobs: float) -> Run:
    """Return a usual run of the nightly job with the given arguments changed."""
    return Run(Shape(size, day, heavy, copies), knobs)


HISTORY_SIZES = (0.75, 0.875, 1.0, 1.125, 0.5, 1.25)
FEED_SIZES = (1.0, 0.5, 0.75, 0.375, 1.0)
EVEN_RUNS = 5
FEED_REPEAT = 430
HEALTHY = {
    "quiet-1": daily(),
    "quiet-2": daily(1.125),
    "noisy-2": replace(daily(), busy_cores=BUSY_CORES),
    "noisy-4": replace(daily(), busy_cores=2 * BUSY_CORES),
    "first-run": daily(),
    "cold-jvm": replace(daily(), cold=True, settings={"spark.driver.extraJavaOptions": f"{QUICK_START} -Xshare:off"}),
    "grown": daily(3.0),
    "shrunk": daily(0.375),
    "partitions": replace(daily(), settings={"spark.sql.shuffle.partitions": "13"}),
    "other-day": daily(day="2024-06-17"),
    "replanned": replace(daily(), settings={"spark.sql.adaptive.autoBroadcastJoinThreshold": "10m"}),
    "feed-healthy": Run(feed=0.875, other=("feed", str(FEED_REPEAT))),
    "even-less": Run(feed=0.25, other=("feed", str(FEED_REPEAT))),
}
SICK = {
    "slow-join": daily(copies=80),
    "slow-join-mild": daily(copies=60),
    "slow-read": daily(repeat=480),
    "slow-read-mild": daily(repeat=390),
    "python-does-more": daily(compute=330),
    "service-slow": daily(service=3.0),
    "skewed": daily(heavy=0.6, compute=50),
    # One of four tasks has half of the data: one customer's orders (a third), and a quarter of the other orders.
    "skewed-few": replace(daily(heavy=0.35, compute=330), settings={"spark.sql.shuffle.partitions": "4"}),
    "straggler": daily(straggle=30),
    "collects": Run(other=("lists", "3000000"), settings=SMALL_HEAP),
    "tasks-fail": replace(daily(failures=2), settings=RETRIES),
    "user-error": replace(daily(failures=9), settings=RETRIES, fails=True),
    "file-gone": replace(daily(0.5, vanish=1), fails=True),
    "stopped": replace(daily(stop=1, compute=50), fails=True),
    "driver-waits": daily(wait=60),
    "driver-waits-less": daily(wait=40),
    "slow-for-its-size": Run(feed=0.375, other=("feed", str(3 * FEED_REPEAT))),
    "even-slow-for-its-size": Run(feed=0.375, other=("feed", str(3 * FEED_REPEAT))),
    "spills": Run(other=("wide_sort", "3600000"), settings={"spark.driver.memory": "600m"}),
    "tiny-tasks": Run(other=("tiny", "3000")),
    "cross-join": Run(other=("cross", "20000")),
    "result-too-large": Run(other=("collect_all", "100000"), settings={"spark.driver.maxResultSize": "1m"}, fails=True),
    "plans": Run(other=("operators",), script="plans_job.py", settings={"spark.driver.memory": "3g"}),
    "plans-data": Run(other=("data",), script="plans_job.py", settings={"spark.driver.memory": "3g"}),
    "late-broadcast": Run(
        other=("late_broadcast", "3000"),
        # With adaptive execution there would be no timeout of a broadcast.
        settings={"spark.sql.broadcastTimeout": "5", "spark.sql.adaptive.enabled": "false"},
        fails=True,
    ),
    "lost-executor": Run(other=("lost_in_map",), settings=CLUSTER),
    "fetch-failed": Run(other=("lost_in_reduce",), settings=CLUSTER),
}
RUNS: Mapping[str, Run] = {
    **{f"history-{number}": daily(size) for number, size in enumerate(HISTORY_SIZES, 1)},
    **{
        f"feed-history-{number}": Run(feed=size, other=("feed", str(FEED_REPEAT)))
        for number, size in enumerate(FEED_SIZES, 1)
    },
    **{f"even-history-{number}": Run(feed=1.0, other=("feed", str(FEED_REPEAT))) for number in range(1, EVEN_RUNS + 1)},
    **HEALTHY,
    **SICK,
}


def make(name: str, into: Path = CORPUS) -> float:
    """Run the job once, store its log under its name, and return its duration in seconds."""
    run = RUNS[name]
    events = STAGE / "events" / f"detection-{name}"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir(parents=True)
    command = ["spark-submit", *configuration(settings(run, events)), *program(name, run)]
    began = time.monotonic()
    log = STAGE / f"detection-{name}.log"
    with log.open("w") as output, contextlib.ExitStack() as parts, use_cores(run):
        code = start(run.environment, command, output, parts).wait(MAX_RUN_SECONDS)
    if bool(code) != run.fails:
        raise SystemExit(f"{name} ended with {code}: see {output.name}")
    (packed,) = (path for path in events.iterdir() if path.name.endswith(".zstd"))
    into.mkdir(exist_ok=True)
    # Spark closes a block after a few events; the same log in one block takes half of the space.
    (into / f"{name}.zstd").write_bytes(zstd.compress(unpack(packed.read_bytes()).data, 19))
    return time.monotonic() - began


def settings(run: Run, events: Path) -> dict[str, str]:
    """Return all settings of the run."""
    packed = {
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "zstd",
        "spark.eventLog.dir": f"file://{events}",
    }
    return SETTINGS | TABLES | dict(run.settings) | packed


def program(name: str, run: Run, into: Path = STAGE) -> list[str]:
    """Write the inputs and return the script and its arguments; the script has a fixed name in Spark's folder."""
    inputs = into / "detection" / "inputs"
    here = Path(__file__)
    if run.shape is None:
        script = str(shutil.copy(here.with_name(run.script), into / run.script))
        if not run.other:
            return [script]
        job, *arguments = run.other
        return [script, job, *([str(data.feed(run.feed, inputs))] if run.feed else []), *arguments]
    script = str(shutil.copy(here.with_name("detection_job.py"), into / "daily_revenue.py"))
    folder = data.linked(data.make(run.shape, inputs), into / "detection" / name / run.shape.day)
    if run.cold:
        data.forget(folder)
    return [script, str(folder), run.shape.day, *(f"{key}={value}" for key, value in run.knobs.items())]


@contextlib.contextmanager
def use_cores(run: Run) -> Iterator[None]:
    """Run other processes, which use one core each, until the block ends."""
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(run.busy_cores)]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


def main() -> None:
    """Record the named runs, or all runs if none is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*RUNS, []], help="runs to record; all by default")
    parser.add_argument("--into", type=Path, default=CORPUS, help="folder for the logs")
    parser.add_argument("--missing", action="store_true", help="only runs without a log")
    options = parser.parse_args()
    for name in options.names or RUNS:
        if options.missing and (options.into / f"{name}.zstd").exists():
            continue
        print(f"{name}: {make(name, options.into):.0f} s", flush=True)


if __name__ == "__main__":
    main()
