"""Tests that operators keep the uids of their state when the plan of a job changes."""

from __future__ import annotations

import pytest

from sparkfuse_stream_jobs import windows
from sparkfuse_stream_jobs.operator_uids import Operator, OperatorUidError, fixed_uids

# The operators that Flink plans for the windows job, without those that have a uid in the SQL.
STAGE_KEYS = "groupBy=[cluster, tenant, app_id, app_attempt, app_start_ms, stage_id, stage_attempt]"
APPLICATION_KEYS = "groupBy=[cluster, tenant, app_id, app_attempt, app_start_ms, kafka_partition]"
PLAN = (
    ("KafkaSource-default_catalog.default_database.facts", 1, "kafka"),
    ("Calc[2] [2]:Calc(select=[cluster, tenant])", 2, "calc"),
    (f"LocalWindowAggregate[4] [4]:LocalWindowAggregate({STAGE_KEYS}, window=[])", 4, "local-window-aggregate"),
    (f"GlobalWindowAggregate[6] [6]:GlobalWindowAggregate({STAGE_KEYS}, window=[])", 6, "global-window-aggregate"),
    (f"GlobalWindowAggregate[15] [15]:GlobalWindowAggregate({APPLICATION_KEYS})", 15, "global-window-aggregate"),
    ("live_rows[26] [26]:Sink(table=[default_catalog.default_database.live_rows])", 26, "sink"),
    ("dead_letters[28] [28]:Sink(table=[default_catalog.default_database.dead_letters])", 28, "sink"),
)
UIDS = ["1_kafka", "6_global-window-aggregate", "15_global-window-aggregate", "26_sink", "28_sink"]


def plan(shift: int = 0) -> list[Operator]:
    """Return the operators; ``shift`` is the number of operators that a release added before all others."""
    return [Operator(text, f"{number + shift}_{kind}") for text, number, kind in PLAN]


def test_uids_of_released_state_do_not_change() -> None:
    """The uids in the table are those under which the first releases stored their state."""
    assert list(windows.UIDS) == UIDS


@pytest.mark.parametrize("shift", [0, 1, 9])
def test_added_operator_changes_no_uid_of_state(shift: int) -> None:
    """If a release adds operators, all operators with state keep their uids."""
    found = fixed_uids(plan(shift), windows.UIDS)

    assert [uid for uid in found if uid in UIDS] == UIDS
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "operator", [Operator("Rank[7] [7]:Rank(strategy=[])", "7_rank"), Operator("Map", None)], ids=["SQL", "no uid"]
)
def test_operator_with_state_needs_a_fixed_uid(operator: Operator) -> None:
    """An operator that may have state and is not in the table is an error."""
    with pytest.raises(OperatorUidError, match="may have state, but no fixed uid"):
        fixed_uids([*plan(), operator], windows.UIDS)


def test_every_fixed_uid_belongs_to_one_operator() -> None:
    """A uid of the table that no operator, or two operators, would get is an error."""
    with pytest.raises(OperatorUidError, match="not exactly one operator has the uid 28_sink"):
        fixed_uids(plan()[:-1], windows.UIDS)
    with pytest.raises(OperatorUidError, match="not exactly one operator has the uid 28_sink"):
        fixed_uids([*plan(), plan()[-1]], windows.UIDS)
