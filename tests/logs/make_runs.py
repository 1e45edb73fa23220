"""Make the runs of one job in tests/logs/runs anew: ``python tests/logs/make_runs.py [NAME...]``.

Six healthy runs, one on a machine that others use too, one of three times the rows, and runs that go wrong.
Spark runs as make_logs.py lets it run, so that no path or name of the machine gets into a log.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.logs.make_logs import (  # noqa: E402  a script, run by path from anywhere
    JOB_SECONDS,
    STAGE,
    Log,
    configuration,
    start,
)

RUNS = Path(__file__).parent / "runs"
MODES = {
    **{f"healthy-{number}": "healthy" for number in range(1, 7)},
    "noisy": "healthy",
    "grown": "grown",
    "waits": "waits",
    "skewed": "skewed",
}
NEIGHBOURS = 4


def make(name: str) -> None:
    """Run the job once and keep its log under its name."""
    events = STAGE / "events" / f"run-{name}"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("runs_job.py"), STAGE / "nightly_orders.py")
    settings = Log("nightly", codec="zstd").all_settings(events)
    command = ["spark-submit", *configuration(settings), "nightly_orders.py", MODES[name]]
    with (STAGE / f"run-{name}.log").open("w") as output, contextlib.ExitStack() as parts:
        for _ in range(NEIGHBOURS if name == "noisy" else 0):
            neighbour(parts)
        if code := start("spark35", command, output, parts).wait(JOB_SECONDS):
            raise SystemExit(f"{name} ended with {code}: see {output.name}")
    (log,) = events.glob("local-*.zstd")
    RUNS.mkdir(exist_ok=True)
    shutil.copy(log, RUNS / f"{name}.zstd")


def neighbour(parts: contextlib.ExitStack) -> None:
    """A process that takes a core for itself, until the parts end."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    parts.callback(process.wait)
    parts.callback(process.kill)


if __name__ == "__main__":
    for each in sys.argv[1:] or MODES:
        make(each)
        print(each, flush=True)
