"""Record the runs of one job in tests/logs/runs again: ``python tests/logs/make_runs.py [NAME...]``.

The runs are six healthy ones, one on a busy machine, one with three times the rows, and several with problems.
Spark runs as in ``make_logs.py``, so that a log contains no path or name of the machine.
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
BUSY_PROCESSES = 4


def make(name: str) -> None:
    """Run the job once and store its log under its name."""
    events = STAGE / "events" / f"run-{name}"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("runs_job.py"), STAGE / "nightly_orders.py")
    settings = Log("nightly", codec="zstd").all_settings(events)
    command = ["spark-submit", *configuration(settings), "nightly_orders.py", MODES[name]]
    with (STAGE / f"run-{name}.log").open("w") as output, contextlib.ExitStack() as processes:
        for _ in range(BUSY_PROCESSES if name == "noisy" else 0):
            use_one_core(processes)
        if code := start("spark35", command, output, processes).wait(JOB_SECONDS):
            raise SystemExit(f"{name} ended with {code}: see {output.name}")
    (log,) = events.glob("local-*.zstd")
    RUNS.mkdir(exist_ok=True)
    shutil.copy(log, RUNS / f"{name}.zstd")


def use_one_core(processes: contextlib.ExitStack) -> None:
    """Start a process that uses one core until the exit stack ends it."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    processes.callback(process.wait)
    processes.callback(process.kill)


if __name__ == "__main__":
    for each in sys.argv[1:] or MODES:
        make(each)
        print(each, flush=True)
