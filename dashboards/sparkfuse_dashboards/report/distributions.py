"""The distributions of the tasks of one stage by time and bytes: bins, a summary, and single points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparkfuse_dashboards.report.limits import MAX_POINTS
from sparkfuse_dashboards.report.stages import Key, Stage, label, stage_name
from sparkfuse_dashboards.report.text import clean, count, number, size, span

if TYPE_CHECKING:
    import pyarrow as pa

_BINS_A_DECADE = 8
_SUMMARIES = (
    ("wall_ms", "Wall time", span),
    ("task_run_ms", "Run time", span),
    ("task_input_bytes", "Input", size),
    ("task_shuffle_read_bytes", "Shuffle read", size),
)
Numbers = NDArray[np.float64]


def distribution(stage: Stage, tasks: pa.Table | None) -> dict[str, Any]:
    """Return the distributions that the page shows for one stage.

    Args:
        stage: a stage of the analysis with its summaries.
        tasks: the stage's rows of the task table (see `only`); without them, there are no charts.
    """
    found: dict[str, Any] = {
        "label": label(stage),
        "name": stage_name(stage),
        "summaries": [_summary(title, stage.get(name) or {}, shown) for name, title, shown in _SUMMARIES],
        "durations": [],
        "bytes": [],
        "points": [],
        "ended": 0,
    }
    if tasks is None or not tasks.num_rows:
        return found
    durations = np.maximum(_column(tasks, "finished_ms") - _column(tasks, "launched_ms"), 0)
    read = np.nan_to_num(_column(tasks, "input_bytes")) + np.nan_to_num(_column(tasks, "shuffle_read_bytes"))
    known = ~np.isnan(durations)
    succeeded = _succeeded(tasks)
    good = known & succeeded
    measured = good & (~np.isnan(_column(tasks, "input_bytes")) | ~np.isnan(_column(tasks, "shuffle_read_bytes")))
    return found | {
        "durations": bins(durations[good]),
        "bytes": bins(read[measured]),
        "points": _points(tasks, durations, read, succeeded, known),
        "ended": int(known.sum()),
    }


def only(tasks: pa.Table, of: Key) -> pa.Table:
    """Return the rows of the task table that belong to one stage attempt."""
    import pyarrow.compute as pc

    wanted = pc.and_(pc.equal(tasks.column("stage_id"), of[0]), pc.equal(tasks.column("stage_attempt"), of[1]))
    return tasks.filter(wanted)


def bins(values: Numbers) -> list[dict[str, float]]:
    """Return the number of non-negative values in each bin; the bins cover all values.

    Zeros have a bin of their own, from 0 to 0. All other bins have the same ratio of upper to lower edge: eight bins
    cover a factor of ten. The bins have equal ratios instead of equal widths, because a straggler may take ten or a
    thousand times the median. With bins of equal width, all other tasks would be in one bin.
    """
    found = [{"from": 0.0, "to": 0.0, "count": float((values <= 0).sum())}] if (values <= 0).any() else []
    positive = values[values > 0]
    if not positive.size:
        return found
    lowest = math.floor(math.log10(float(positive.min())) * _BINS_A_DECADE)
    highest = math.floor(math.log10(float(positive.max())) * _BINS_A_DECADE) + 1
    edges = 10.0 ** (np.arange(lowest, highest + 1) / _BINS_A_DECADE)
    # Because of rounding, the first edge may be above the least value, or the last edge below the highest value.
    edges[0], edges[-1] = min(edges[0], positive.min()), max(edges[-1], positive.max())
    counts, _ = np.histogram(positive, edges)
    return found + [
        {"from": float(edges[place]), "to": float(edges[place + 1]), "count": float(amount)}
        for place, amount in enumerate(counts)
    ]


def chosen(durations: Numbers, bad: NDArray[np.bool_], most: int = MAX_POINTS) -> list[int]:
    """Return the indexes of the tasks that are drawn as points, at most ``most`` tasks.

    At most a quarter of the points are the first failed tasks, and a quarter are the longest tasks. The other points
    are every k-th task of the stage.
    """
    if durations.size <= most:
        return list(range(durations.size))
    failed = np.flatnonzero(bad)[: most // 4]
    longest = np.argsort(-durations, kind="stable")[: most // 4]
    every = np.arange(0, durations.size, math.ceil(durations.size / (most // 2)))
    return sorted({*map(int, failed), *map(int, longest), *map(int, every)})


def _points(
    tasks: pa.Table, durations: Numbers, read: Numbers, succeeded: NDArray[np.bool_], known: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    places = np.flatnonzero(known)
    drawn = [int(places[each]) for each in chosen(durations[places], ~succeeded[places])]
    descriptions = tasks.select(["task_index", "task_attempt", "executor_id", "outcome"]).take(drawn).to_pylist()
    return [
        {
            "ms": float(durations[place]),
            "bytes": float(read[place]),
            "outcome": who["outcome"] if who["outcome"] in {"success", "killed"} else "failed",
            "tip": (
                f"task {who['task_index']} attempt {who['task_attempt']} on executor {clean(who['executor_id'], 40)}: "
                f"{span(float(durations[place]))}, {size(float(read[place]))}, {clean(who['outcome'], 20)}"
            ),
        }
        for place, who in zip(drawn, descriptions, strict=True)
    ]


def _succeeded(tasks: pa.Table) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    succeeded = pc.fill_null(pc.equal(tasks.column("outcome"), "success"), False)
    return np.asarray(succeeded.to_numpy(), dtype=np.bool_)


def _column(tasks: pa.Table, name: str) -> Numbers:
    """Return a column as doubles; null becomes NaN."""
    import pyarrow as pa

    column = tasks.column(name).cast(pa.float64())
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _summary(title: str, summary: Mapping[str, Any], shown: Any) -> tuple[str, Sequence[str]]:
    """Return one row of the table beside the charts; the row contains the values of a chart as text."""
    if not number(summary.get("n")):
        return title, ("0", *(["unknown"] * 5))
    return title, (count(summary["n"]), *(shown(summary.get(name)) for name in ("min", "median", "p95", "max", "sum")))
