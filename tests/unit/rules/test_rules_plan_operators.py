"""Tests the removal of literals from the conditions of filters and joins."""

import pytest

from sparkfuse_contracts.generated.plan_conditions import MOST_CHARS
from sparkfuse_rules.knowledge.plan_operators import condition, has_condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Filter (isnotnull(day#5) AND (day#5 = 2024-05-01))", "isnotnull day AND day =", id="date literal"
        ),
        pytest.param("Filter (name#12 = AND secret)", "name = AND", id="words of a literal"),
        pytest.param("Filter (amount#7L >= 12.50)", "amount >=", id="number literal"),
        pytest.param(
            "SortMergeJoin [customer_id#1L], [customer_id#20L], LeftOuter",
            "customer_id customer_id LeftOuter",
            id="join",
        ),
        pytest.param("Filter (note#3 = straße <b>)", "note = < >", id="letters of other languages"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_literals_are_removed_from_conditions(text: str, expected: str):
    """The literals of a condition are removed; its columns, comparisons and join types are kept.

    So a condition has the same text in all runs.
    """
    assert condition(text) == expected


@pytest.mark.parametrize("one", ["Filter (a#1 = 5)", "SortMergeJoin [a#1], [b#2], Inner"])
def test_changed_column_or_type_changes_condition(one: str):
    """If a column or a join type changes, the text of the condition changes too."""
    assert condition(one) != condition(one.replace("a#1", "c#1"))
    assert condition(one) != condition(one.replace("Inner", "LeftAnti").replace("=", ">"))


def test_condition_length_is_bounded():
    """The length of a condition's text is limited, however many columns it has."""
    assert len(condition(" AND ".join(f"(column{number}#{number} = 1)" for number in range(1000)))) <= MOST_CHARS


@pytest.mark.parametrize(
    ("node", "expected"),
    [("Filter", True), ("BroadcastHashJoin", True), ("CartesianProduct", True), ("Exchange", False), ("", False)],
)
def test_only_filters_and_joins_have_conditions(node: str, expected: bool):
    """Only filters and joins have conditions; other plan nodes are identified by their names."""
    assert has_condition(node) is expected
