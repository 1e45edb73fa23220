"""Tests the fingerprint of a stage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.fingerprint import normal_call_site, normal_operators, stage_fingerprint

PLAN = ("AdaptiveSparkPlan", "HashAggregate", "Exchange", "SortMergeJoin", "Filter", "Scan parquet db.orders")
SCOPES = ("Exchange", "WholeStageCodegen (3)", "mapPartitionsInternal")
STAGE = ("count at /jobs/2024-05-01/orders.py:12", SCOPES, PLAN, ("aaaa", "bbbb"))


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(("count at /jobs/2024-05-02/orders.py:12", *STAGE[1:]), id="date in the path"),
        pytest.param(("count at /jobs/2024-05-01/orders.py:13", *STAGE[1:]), id="edited one line above"),
        pytest.param((*STAGE[:3], ("bbbb", "aaaa")), id="parents in another order"),
        pytest.param((STAGE[0], (SCOPES[2], SCOPES[0], SCOPES[1]), *STAGE[2:]), id="scopes as a hash set gives them"),
        pytest.param((*STAGE[:3], ("aaaa", "", "bbbb")), id="a parent that is not known"),
        pytest.param(
            (STAGE[0], ("Exchange", "AQEShuffleRead", "WholeStageCodegen (7)", "mapPartitionsInternal"), *STAGE[2:]),
            id="adaptive execution coalesced partitions",
        ),
        pytest.param(
            (STAGE[0], ("Exchange", "CustomShuffleReader", "mapPartitionsInternal"), *STAGE[2:]), id="Spark 3.1 reader"
        ),
        pytest.param((*STAGE[:2], PLAN[1:], STAGE[3]), id="without adaptive execution's wrapper"),
    ],
)
def test_same_stage_has_the_same_fingerprint(same):
    """The fingerprint does not depend on numbers, dates, lines, the order of parents or adaptive execution."""
    assert stage_fingerprint(*same) == stage_fingerprint(*STAGE)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(("collect at /jobs/2024-05-01/orders.py:12", *STAGE[1:]), id="action"),
        pytest.param(("count at /jobs/2024-05-01/returns.py:12", *STAGE[1:]), id="file"),
        pytest.param((*STAGE[:2], tuple(n.replace("SortMerge", "BroadcastHash") for n in PLAN), STAGE[3]), id="join"),
        pytest.param((*STAGE[:2], tuple(n for n in PLAN if n != "Filter"), STAGE[3]), id="filter removed"),
        pytest.param((*STAGE[:2], tuple(n.replace("orders", "returns") for n in PLAN), STAGE[3]), id="table"),
        pytest.param((*STAGE[:2], PLAN[::-1], STAGE[3]), id="operators in another order"),
        pytest.param((STAGE[0], SCOPES[:1], *STAGE[2:]), id="scope removed"),
        pytest.param((*STAGE[:3], ("aaaa", "cccc")), id="another parent"),
        pytest.param((*STAGE[:3], ("aaaa",)), id="one parent fewer"),
    ],
)
def test_different_stage_has_another_fingerprint(other):
    """The fingerprint depends on the action, the file, the operators and their order, the tables and the parents."""
    assert stage_fingerprint(*other) != stage_fingerprint(*STAGE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Filter (amount#12 > 100)", "Filter (amount#931L > 250.5)"),
        ("Filter (name = 'x')", "Filter (name = 'y z')"),
        ("FileScan csv file:/data/2024-05-01/x", "FileScan csv file:/data/2024-05-02/x"),
        ("Range (0, 1000, step=1, splits=4)", "Range (0, 9, step=1, splits=200)"),
        ("hashpartitioning(k#3, 200), [plan_id=12]", "hashpartitioning(k#9, 17), [plan_id=88]"),
        ("WholeStageCodegen (1)", "AQEShuffleRead coalesced"),
    ],
)
def test_literals_ids_and_partitions_are_ignored(one, other):
    """Parts of an operator's text that differ between two runs of the same statement are removed."""
    assert normal_operators([one]) == normal_operators([other])


def test_changed_column_changes_the_fingerprint():
    """If a filter uses a different column, the stage has a different fingerprint."""
    assert normal_operators(["Filter (amount#1 > 5)"]) != normal_operators(["Filter (price#1 > 5)"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("count at /a/b/job.py:7", "count at job.py"),
        ("$anonfun$run$12 at FutureTask.java:264", "$anonfun$run$ at FutureTask.java"),
        ("save at C:\\jobs\\load.py:3", "save at load.py"),
        ("load 2024-05-01", "load"),
        ("", ""),
    ],
)
def test_call_site_is_reduced_to_action_and_file(name, expected):
    """The folder and the line number are removed from a call site."""
    assert normal_call_site(name) == expected


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.text(max_size=30), max_size=5), st.randoms())
def test_any_names_give_sixteen_hex_digits(names, parents, random):
    """For any text from a user, a fingerprint has sixteen hex digits and does not depend on the order of parents."""
    shuffled = random.sample(parents, len(parents))
    fingerprint = stage_fingerprint(names[0] if names else None, names, names, parents)

    assert len(fingerprint) == 16
    assert int(fingerprint, 16) >= 0
    assert stage_fingerprint(names[0] if names else None, names, names, shuffled) == fingerprint
