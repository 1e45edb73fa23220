"""Tests of the columns about joins that shuffle a side that Spark could broadcast."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.measured_plan import LARGEST
from tests.unit.rules.measured_plans import Node, columns

NS = 1_000_000
LARGE = {"data size": 90_000, "shuffle write time": 400 * NS, "fetch wait time": 30}
SMALL = {"data size": 50, "shuffle write time": 9_000 * NS}
MISSED = {"shuffled_join_small_bytes": 50, "shuffled_join_large_bytes": 90_000, "shuffled_join_task_ms": 2_430}


def join(
    detail: str = "Inner k",
    name: str = "SortMergeJoin",
    left: dict[str, int] = LARGE,
    right: dict[str, int] = SMALL,
    above: tuple[Node, str] = (("Project", -1, {}), ""),
    between: str = "ShuffleQueryStage",
) -> QueryLiveRow:
    """Return the columns of a join of two exchanges; sorting the left side takes 2 s."""
    return columns(
        above[0],
        (name, 0, {"number of output rows": 7}),
        ("WholeStageCodegen (3)", 1, {}),
        ("Sort", 2, {"sort time": 2_000}),
        (between, 3, {}),
        ("Exchange", 4, left),
        ("Sort", 1, {"sort time": 1}),
        ("AQEShuffleRead", 6, {}),
        ("Exchange", 7, right),
        details=(above[1], detail),
    )


def test_cost_is_the_shuffle_of_the_larger_side():
    """The larger side is written, fetched and sorted only because of the join; the smaller side must be sent anyway."""
    assert join() == MISSED
    assert join(name="ShuffledHashJoin") == MISSED


@pytest.mark.parametrize(
    ("join_type", "small_left", "small_right"),
    [
        ("Inner", True, True),
        ("LeftOuter", False, True),
        ("LeftSemi", False, True),
        ("LeftAnti", False, True),
        ("RightOuter", True, False),
        ("FullOuter", False, False),
        ("", False, False),
    ],
)
def test_side_that_spark_cannot_broadcast_is_left_out(join_type: str, small_left: bool, small_right: bool):
    """An outer join keeps all rows of one side, so Spark cannot broadcast this side."""
    assert bool(join(f"{join_type} k")) is small_right
    assert bool(join(f"{join_type} k", left=SMALL, right=LARGE)) is small_left


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ((("SortMergeJoin", -1, {}), "Inner k"), {}),
        ((("BroadcastHashJoin", -1, {}), "Inner k"), MISSED),
        ((("Window", -1, {}), "k"), {}),
        ((("HashAggregate", -1, {}), "group by k, day"), {}),
        ((("HashAggregate", -1, {}), "group by day"), MISSED),
        ((("Exchange", -1, {}), "hashpartitioning k"), MISSED),
    ],
    ids=["join", "broadcast join", "window", "aggregate by the key", "other aggregate", "next stage"],
)
def test_shuffle_that_serves_other_operators_is_left_out(above: tuple[Node, str], expected: QueryLiveRow):
    """If an operator of the same stage needs the rows by the same key, a broadcast does not save the shuffle."""
    assert join(above=above) == expected


def test_side_that_was_shuffled_for_an_aggregate_is_left_out():
    """Below an aggregate, the exchange serves the aggregate."""
    assert join(between="HashAggregate") == {}


def test_side_without_measured_size_is_left_out():
    """A reused exchange, or a plan whose metrics were lost, has no size."""
    assert join(left={}) == {}
    assert join(right={"shuffle write time": 4}) == {}


def test_time_is_limited_to_64_bits():
    """The sum of large times fits into its column."""
    assert join(left={**LARGE, "fetch wait time": LARGEST})["shuffled_join_task_ms"] == LARGEST


def test_join_with_most_time_for_its_smaller_side_is_described():
    """A join of two large tables takes longer, but its smaller side is too large to broadcast."""
    large = {"data size": 9_000_000_000, "shuffle write time": 90_000 * NS}
    missed = {"data size": 4_000, "shuffle write time": 5_000 * NS}
    found = columns(
        ("Union", -1, {}),
        ("Exchange", 0, {}),
        ("SortMergeJoin", 1, {}),
        ("Exchange", 2, large),
        ("Exchange", 2, large),
        ("Exchange", 0, {}),
        ("SortMergeJoin", 5, {}),
        ("Exchange", 6, missed),
        ("Exchange", 6, {"data size": 30}),
        details=("", "", "Inner k", "", "", "", "Inner k"),
    )

    assert (found["shuffled_join_small_bytes"], found["shuffled_join_task_ms"]) == (30, 5_000)
