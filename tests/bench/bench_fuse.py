"""Measures the time from evidence to the end of the tasks for each action, and the cost of a fuse that cannot work.

``python -m tests.bench.bench_fuse`` takes about an hour; ``--part acts`` measures only the times, and ``--part away``
only the cost. The bench prints the rows of the table in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.bench import fuse_acts, fuse_away


def main() -> None:
    """Measure and print the rows of the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["acts", "away", "all"], default="all", help="what to measure")
    parser.add_argument("--acts", type=int, default=20, help="acts for each action")
    parser.add_argument("--at-once", type=int, default=3, help="applications that run at once")
    parser.add_argument("--action", choices=fuse_acts.ACTIONS, action="append", help="measure only this action")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of runs for each fault")
    parser.add_argument("--tasks", type=int, default=60, help="tasks of about 0.2 s in a run")
    parser.add_argument("--fault", choices=fuse_away.FAULTS, action="append", help="measure only this fault")
    options = parser.parse_args()
    print(f"load before the start {os.getloadavg()[0]:.1f}", flush=True)
    lines: list[str] = []
    if options.part in ("acts", "all"):
        with tempfile.TemporaryDirectory(prefix="sparkfuse-bench-") as folder:
            actions = options.action or fuse_acts.ACTIONS
            lines += fuse_acts.rows(
                fuse_acts.measure(Path(folder), options.acts, options.at_once, actions), options.acts
            )
    if options.part in ("away", "all"):
        lines += fuse_away.rows(
            dict(fuse_away.measure(options.pairs, options.tasks, options.fault or fuse_away.FAULTS))
        )
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
