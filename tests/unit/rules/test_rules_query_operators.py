"""Tests of the columns about single operators of a query."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from sparkfuse_rules.knowledge.measured_plan import LARGEST, PlanMetric
from sparkfuse_rules.knowledge.query_operators import operator_columns
from sparkfuse_rules.knowledge.query_plan import QueryPlan
from tests.unit.rules.measured_plans import MS, ROWS, SHUFFLED, Node, columns


def loop_join(name: str, left: Node, right: Node, output: int = 10) -> QueryLiveRow:
    return columns(("WholeStageCodegen (1)", -1, {MS: 700}), (name, 0, {ROWS: output}), left, right)


def test_nested_loop_join_compares_all_pairs():
    """A nested-loop join compares each row of one side with each row of the broadcast side."""
    found = loop_join("BroadcastNestedLoopJoin", ("Range", 1, {ROWS: 5_000}), ("BroadcastExchange", 1, {ROWS: 300}))

    assert found == {
        "loop_join_pairs": 1_500_000,
        "loop_join_small_rows": 300,
        "loop_join_output_rows": 10,
        "loop_join_task_ms": 700,
    }


def test_rows_come_from_the_nearest_node_that_counts():
    """A projection, a sort or a reader has no rows of its own; the rows are those of the node below."""
    found = columns(
        ("BroadcastNestedLoopJoin", -1, {ROWS: 1}),
        ("Project", 0, {}),
        ("Filter", 1, {ROWS: 40}),
        ("Range", 2, {ROWS: 999}),
        ("BroadcastExchange", 0, {ROWS: 7}),
    )

    assert (found["loop_join_pairs"], found["loop_join_small_rows"]) == (280, 7)
    assert "loop_join_task_ms" not in found


@pytest.mark.parametrize(
    "side", [("Union", 1, {}), ("Range", 1, {}), ("Range", 1, {ROWS: -1})], ids=["branch", "leaf", "no value"]
)
def test_join_with_a_side_of_unknown_size_is_left_out(side: Node):
    """Without the rows of both sides, the pairs are unknown. Spark's -1 means that there is no value."""
    assert loop_join("BroadcastNestedLoopJoin", side, ("BroadcastExchange", 1, {ROWS: 300})) == {}


def test_cartesian_product_of_exchanges_compares_all_pairs():
    """An exchange counts the rows that are written to it once, even if they are read several times."""
    found = loop_join("CartesianProduct", ("Exchange", 1, {SHUFFLED: 5_000}), ("Exchange", 1, {SHUFFLED: 300}))

    assert (found["loop_join_pairs"], found["loop_join_small_rows"]) == (1_500_000, 300)


def test_cartesian_product_counts_rows_of_repeated_reads_once():
    """One row that is read by 200 tasks is counted 200 times; the output proves that there are fewer pairs."""
    found = loop_join("CartesianProduct", ("Range", 1, {ROWS: 200}), ("Range", 1, {ROWS: 10_000}), output=10_000)

    assert (found["loop_join_pairs"], found["loop_join_small_rows"]) == (10_000, 1)


def test_numbers_are_limited_to_64_bits():
    """The product and the sum of two large numbers fit into their columns."""
    found = loop_join("BroadcastNestedLoopJoin", ("Range", 1, {ROWS: 2**62}), ("BroadcastExchange", 1, {ROWS: 2**40}))

    sent = {"data size": 1, "time to build": LARGEST, "time to broadcast": LARGEST}

    assert found["loop_join_pairs"] == LARGEST
    assert columns(("BroadcastExchange", -1, sent))["broadcast_ms"] == LARGEST


def test_scan_with_most_files_is_described():
    """Of several scans, the columns describe the one with most files, with its table and the time of its code."""
    few = {"number of files read": 3, "size of files read": 9_000_000_000}
    many = {"number of files read": 800, "size of files read": 70_000}
    found = columns(
        ("SortMergeJoin", -1, {}),
        ("WholeStageCodegen (1)", 0, {MS: 50}),
        ("Scan parquet", 1, few),
        ("WholeStageCodegen (2)", 0, {MS: 900}),
        ("Scan json", 3, many),
        details=("", "", "lake.orders parquet", "", "in/events json"),
    )

    assert found == {
        "scanned_files": 800,
        "scanned_file_bytes": 70_000,
        "scanned_table": "in/events json",
        "scan_task_ms": 900,
    }


def test_time_of_another_stage_does_not_count():
    """Generated code above an exchange runs in another stage, so it does not measure the scan."""
    scan = {"number of files read": 3, "size of files read": 90}
    found = columns(("WholeStageCodegen (2)", -1, {MS: 900}), ("Exchange", 0, {}), ("Scan json", 1, scan))

    assert "scan_task_ms" not in found


def test_written_files_and_partitions():
    """A write without dynamic partitions has 0 partitions."""
    written = {"number of written files": 40, "written output": 4_000}

    assert columns(("Execute InsertIntoHadoopFsRelationCommand", -1, written)) == {
        "written_files": 40,
        "written_file_bytes": 4_000,
        "written_partitions": 0,
    }
    assert columns(("Execute X", -1, {**written, "number of dynamic part": 7}))["written_partitions"] == 7


def test_broadcast_time_excludes_the_wait_for_its_rows():
    """The time to collect includes the job that computes the rows, so only building and sending count."""
    sent = {"data size": 900, "time to collect": 60_000, "time to build": 20, "time to broadcast": 3}
    found = columns(("BroadcastHashJoin", -1, {}), ("BroadcastExchange", 0, sent), ("Range", 0, {ROWS: 1}))

    assert found == {"broadcast_bytes": 900, "broadcast_ms": 23}


def test_task_after_an_exchange_to_one_partition():
    """The task with all rows takes as long as its longest generated code or sort, up to the next exchange."""
    found = columns(
        ("WholeStageCodegen (3)", -1, {MS: 99_000}),
        ("Exchange", 0, {SHUFFLED: 4}),
        ("Window", 1, {}),
        ("WholeStageCodegen (2)", 2, {MS: 800}),
        ("Sort", 3, {"sort time": 900}),
        ("Exchange", 4, {SHUFFLED: 6_000}),
        details=("", "hashpartitioning k", "", "", "", "SinglePartition"),
    )

    assert found == {"one_task_rows": 6_000, "one_task_ms": 900}


def test_damaged_plan_has_no_columns():
    """Metrics of nodes that do not exist, and parents in the wrong order, are ignored."""
    plan = QueryPlan(("Scan x", "CartesianProduct"), (5, -7), ())
    metrics = [PlanMetric(-1, 1, ROWS), PlanMetric(9, 1, ROWS), PlanMetric(1, 1, ROWS)]

    assert operator_columns(plan, metrics, {1: 5}) == {}
    assert operator_columns(QueryPlan((), (), ()), metrics, {}) == {}
