"""Measures how well `sparkfuse explain` predicts the duration of a run under a change, on real runs of Spark.

``python -m tests.bench.bench_predictions [--repeats N] [--write]`` runs each variant of a job, predicts from its event
log how long it would take with more or fewer slots or without lost time, and then runs the job with that change. With
``--write``, the table of docs/compare.md is replaced.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.compare import Run
from sparkfuse_native_analytics.compare.run_from_log import read_run
from sparkfuse_native_analytics.compare.simulation import CHANGES, Change, predicted_ms

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build/envs/spark35/bin/python"
JOB = Path(__file__).parent / "jobs" / "predicted_job.py"
PAGE = ROOT / "docs" / "compare.md"
BEGIN, END = "<!-- measured predictions -->\n", "<!-- end -->\n"
WITHOUT = {each.name: each for each in CHANGES}


@dataclass(frozen=True)
class Variant:
    """One variant of the job: its workload, its task slots, and what makes it slow."""

    workload: str
    cores: int
    loss: str = ""


@dataclass(frozen=True)
class Kind:
    """A prediction that a second real run checks: the change, and the variants before and after it."""

    name: str
    change: Change
    before: Variant
    after: Variant


def slots(workload: str, before: int, after: int) -> Kind:
    """Return a change of the number of task slots."""
    change = Change("slots", "", after / before)
    return Kind(f"{workload}: {before} to {after} slots", change, Variant(workload, before), Variant(workload, after))


def without(loss: str) -> Kind:
    """Return a change that removes lost time from the workload `keys`."""
    change = WITHOUT[f"no_{loss}"]
    return Kind(f"keys: no {loss}", change, Variant("keys", 4, loss), Variant("keys", 4))


KINDS = (
    without("skew"), without("stragglers"), without("failures"),
    slots("keys", 4, 2), slots("keys", 2, 4), slots("keys", 4, 8),
    slots("waves", 4, 2), slots("waves", 2, 4), slots("waves", 4, 8),
    slots("query", 4, 2), slots("query", 2, 4),
    slots("parallel", 4, 2), slots("parallel", 2, 4),
)  # fmt: skip


def main() -> None:
    """Run all variants, predict, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant; the fastest counts")
    parser.add_argument("--write", action="store_true", help="write the table to docs/compare.md")
    options = parser.parse_args()
    variants = list(dict.fromkeys(each for kind in KINDS for each in (kind.before, kind.after)))
    runs = {each: min((run(each) for _ in range(options.repeats)), key=lambda of: of.wall_ms) for each in variants}
    text = table(runs, options.repeats)
    print(text)
    if options.write:
        page = PAGE.read_text()
        before, _, rest = page.partition(BEGIN)
        _, found, after = rest.partition(END)
        if not found:
            raise SystemExit(f"{PAGE} has no place for the table")
        PAGE.write_text(before + BEGIN + text + END + after)


def run(variant: Variant) -> Run:
    """Run the job once, and read its event log."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(PYTHON), str(JOB), json.dumps(asdict(variant)), folder]
        subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
        (log,) = find_logs(folder).logs
        return read_run(log)


def table(runs: dict[Variant, Run], repeats: int) -> str:
    """Return the table of all kinds, in seconds; other work on the machine disturbs the fastest runs least."""
    rows, errors = [], []
    for kind in KINDS:
        predicted = predicted_ms(runs[kind.before], kind.change) or 0
        before, actual = (runs[of].wall_ms for of in (kind.before, kind.after))
        errors.append(predicted / actual - 1)
        rows.append(
            f"| {kind.name} | {before / 1000:.1f} | {predicted / 1000:.1f} | {actual / 1000:.1f} | {errors[-1]:+.0%} |"
        )
    sizes = sorted(map(abs, errors))
    lines = [
        (
            f"`make bench-predictions`, {dt.datetime.now(dt.UTC).date()}: {len(KINDS)} changes, each with the fastest "
            f"of {repeats} runs before and after it; the error is "
            f"{statistics.median(sizes):.0%} in the median and at most {sizes[-1]:.0%}."
        ),
        "",
        "| change | run before, s | predicted, s | real run after, s | error |",
        "| --- | --- | --- | --- | --- |",
        *rows,
    ]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
