"""Tests that a job that has the same costly operator in each run reports it once a week."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow, QueryLive
from sparkfuse_stream_jobs.detect.reported_costs import COSTS, ReportedCost, fill_due, has_costs
from sparkfuse_stream_jobs.detect.state.codec import record_codec
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState

DAY = 86_400_000
T = 1_795_226_400_000


class Job:
    """The runs of one job."""

    def __init__(self) -> None:
        self._reported: InMemoryMapState[ReportedCost] = InMemoryMapState()

    def is_due(self, run: str, at: int, flag: str = "loop_join_due", **columns: Any) -> bool:
        row = LiveRow(run_key=run, window_end_ms=at, query=QueryLive(**columns))
        assert fill_due(row, self._reported).query.HasField(flag)

        return bool(getattr(row.query, flag))


def test_same_cost_is_due_once_a_week():
    """Of nightly runs with about the same cost, the first one reports it, and then one a week later."""
    job = Job()
    due = [
        job.is_due(f"run-{day}", T + day * DAY - day % 2 * 900_000, loop_join_task_ms=600_000 + 1_000 * (day % 3))
        for day in range(15)
    ]

    assert [day for day, each in enumerate(due) if each] == [0, 7, 14]


@pytest.mark.parametrize(("value", "expected"), [(899_999, False), (900_000, True)], ids=["below", "exactly"])
def test_cost_that_grew_by_half_is_due(value: int, expected: bool):
    """A cost that is new for the job is reported on the next day."""
    job = Job()
    job.is_due("run-0", T, loop_join_task_ms=600_000)

    assert job.is_due("run-1", T + DAY, loop_join_task_ms=value) is expected


def test_all_queries_of_the_reporting_run_are_due():
    """The run that reports a cost reports it in all its rows, and its highest cost counts for later runs."""
    job = Job()
    assert [job.is_due("run-0", T + at, loop_join_task_ms=value) for at, value in ((0, 100), (5, 900), (9, 100))] == [
        True, True, True
    ]  # fmt: skip
    assert job.is_due("run-1", T + DAY, loop_join_task_ms=1_349) is False
    assert job.is_due("run-1", T + DAY, loop_join_task_ms=1_350) is True


def test_operators_are_independent():
    """A join that was reported does not hide a broadcast, and a larger broadcast is due although its time is not."""
    job = Job()
    job.is_due("run-0", T, loop_join_task_ms=600_000)

    assert job.is_due("run-1", T + DAY, "broadcast_due", broadcast_bytes=100, broadcast_ms=50) is True
    assert job.is_due("run-2", T + DAY, "broadcast_due", broadcast_bytes=100, broadcast_ms=50) is False
    assert job.is_due("run-2", T + DAY, "broadcast_due", broadcast_bytes=150, broadcast_ms=50) is True
    assert job.is_due("run-2", T + DAY, "one_task_due", one_task_ms=7) is True


def test_row_without_costs_is_unchanged():
    """A query without such an operator gets no flag and does not need the state of the job."""
    row = LiveRow(run_key="run", window_end_ms=T, query=QueryLive(query_id=4, scanned_files=9))

    assert not has_costs(row.query)
    assert fill_due(row, InMemoryMapState()).query == QueryLive(query_id=4, scanned_files=9)
    for column in (column for columns in COSTS.values() for column in columns):
        with_cost = QueryLive()
        setattr(with_cost, column, 0)
        assert has_costs(with_cost)


def test_reported_cost_survives_its_codec():
    """The state of a job can be saved and read again."""
    codec, cost = record_codec(ReportedCost), ReportedCost(5, T, "run")

    assert codec.decode(codec.encode(cost)) == cost
