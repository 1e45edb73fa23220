"""Tests of the columns about parts of a query that compute the same rows several times."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.view_rows import QueryLiveRow
from tests.unit.rules.measured_plans import MS, ROWS, SHUFFLED, Node, columns

FILES, BYTES = "number of files read", "size of files read"
READ = {ROWS: 9_000, FILES: 4, BYTES: 70_000}
NOTHING: Node = ("Project", -1, {})


def part(parent: int, first: int, ms: int, **other: object) -> list[tuple[Node, str]]:
    """Return the nodes of an exchange with a partial aggregate of a filtered scan, and their details."""
    return [
        (("Exchange", parent, {SHUFFLED: 80}), "hashpartitioning k"),
        ((f"WholeStageCodegen ({first})", first, {MS: ms}), ""),
        (("HashAggregate", first + 1, {ROWS: 80}), str(other.get("keys", "group by k"))),
        (("Filter", first + 2, {ROWS: int(str(other.get("rows", 5_000)))}), ""),
        (
            (str(other.get("scan", "Scan parquet")), first + 3, dict(READ)),
            str(other.get("table", "lake/orders parquet")),
        ),
    ]


def found(*parts: list[tuple[Node, str]], above: tuple[Node, ...] = (("SortMergeJoin", -1, {}),)) -> QueryLiveRow:
    nodes = [(node, "") for node in above] + [node for each in parts for node in each]
    result = columns(*(node for node, _ in nodes), details=tuple(detail for _, detail in nodes))
    return {name: value for name, value in result.items() if name.startswith("repeated")}  # type: ignore[return-value]


def test_equal_parts_are_found():
    """The query needs one of the parts, so the longest one is no repetition."""
    assert found(part(0, 1, 700), part(0, 6, 900), part(0, 11, 600)) == {
        "repeated_copies": 3,
        "repeated_rows": 5_000,
        "repeated_table": "lake/orders parquet",
        "repeated_task_ms": 1_300,
    }


@pytest.mark.parametrize(
    "other",
    [
        {"rows": 5_001},
        {"keys": "group by day"},
        {"table": "lake/returns parquet"},
        {"scan": "Scan json"},
    ],
    ids=str,
)
def test_parts_that_differ_are_not_found(other: dict[str, object]):
    """Another number of rows, another key, another table or another operator is another computation."""
    assert found(part(0, 1, 700), part(0, 6, 900, **other)) == {}


def test_part_that_spark_reuses_is_not_found():
    """A reused exchange computes nothing, even if the plan shows the nodes of the exchange below it."""
    reused: tuple[Node, str] = (("ReusedExchange", 0, {}), "")

    assert found(part(0, 1, 700), [reused]) == {}
    assert found(part(0, 1, 700), [reused, *part(6, 7, 700)]) == {}


@pytest.mark.parametrize("scan", ["Scan ExistingRDD", "Range (0, 100, step=1, splits=4)", "LocalTableScan"])
def test_data_that_the_plan_does_not_identify_is_not_found(scan: str):
    """Without a table or path, different data with the same number of rows looks equal."""
    assert found(part(0, 1, 700, scan=scan, table=""), part(0, 6, 900, scan=scan, table="")) == {}


@pytest.mark.parametrize("kind", ["Subquery subquery#1", "InMemoryTableScan"])
def test_part_that_is_shown_twice_is_not_found(kind: str):
    """The plan of a subquery or of cached data is shown wherever it is used, but computed once."""
    above: tuple[Node, ...] = (("Union", -1, {}), (kind, 0, {}), (kind, 0, {}))

    assert found(part(1, 3, 700), part(2, 8, 900), above=above) == {}


def test_time_of_a_part_includes_the_stages_below():
    """Sorts and the join above them run at the same time in one stage; the stages below add their time."""

    def joined(parent: int, first: int) -> list[tuple[Node, str]]:
        left, right = first + 2, first + 8
        return [
            (("WholeStageCodegen (9)", parent, {MS: 1_000}), ""),
            (("SortMergeJoin", first, {ROWS: 60_000}), "Inner k"),
            (("WholeStageCodegen (7)", first + 1, {MS: 990}), ""),
            *part(left, left + 1, 100),
            (("WholeStageCodegen (8)", first + 1, {MS: 990}), ""),
            *part(right, right + 1, 30, table="lake/days parquet"),
        ]

    one = found(joined(0, 1), joined(0, 15))

    assert (one["repeated_task_ms"], one["repeated_rows"], one["repeated_copies"]) == (1_130, 5_000, 2)


def test_branches_of_a_union_add_their_times():
    """The tasks of a union run one branch each."""

    def union(parent: int, first: int) -> list[tuple[Node, str]]:
        def branch(at: int, ms: int, table: str) -> list[tuple[Node, str]]:
            return [
                ((f"WholeStageCodegen ({at})", first + 2, {MS: ms}), ""),
                (("Filter", at, {ROWS: 5_000}), ""),
                (("Scan parquet", at + 1, dict(READ)), table),
            ]

        return [
            (("Exchange", parent, {SHUFFLED: 160}), "hashpartitioning k"),
            (("WholeStageCodegen (5)", first, {MS: 20}), ""),
            (("Union", first + 1, {}), ""),
            *branch(first + 3, 100, "lake/orders parquet"),
            *branch(first + 6, 30, "lake/days parquet"),
        ]

    assert found(union(0, 1), union(0, 10))["repeated_task_ms"] == 130
