"""Tests the rows of runs and of hosts that the loader derives from its batches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkfuse_native_analytics.loader.finding_hosts import finding_hosts
from sparkfuse_native_analytics.loader.job_runs import OF_LOG, OF_ROW, OF_START, logged_runs, started_runs

KEY = {"app_id": "app-1", "app_attempt": 1, "app_start_ms": 1_000}
SETTINGS = [("spark.sparkfuse.job", "nightly"), ("spark.sparkfuse.team", "growth"), ("spark.sparkfuse.owner", "ada")]
STARTED = {
    **KEY,
    "row": "application_started",
    "application_started_name": "orders 17",
    "application_started_user_name": "etl",
    "application_started_properties": SETTINGS,
    "application_name": None,
    "incomplete_since_ms": None,
}
PROPERTIES = pa.map_(pa.string(), pa.string())


def live(*rows: dict) -> pa.Table:
    """Return rows of the table live."""
    table = pa.Table.from_pylist([{**dict.fromkeys(STARTED), **row} for row in rows])
    names = ("application_name", "application_started_name", "application_started_user_name")
    columns = {name: table[name].cast(pa.string()) for name in names}
    columns["application_started_properties"] = pa.array(
        [row.get("application_started_properties") for row in rows], PROPERTIES
    )
    columns["incomplete_since_ms"] = table["incomplete_since_ms"].cast(pa.int64())
    return pa.table({**{name: table[name] for name in (*KEY, "row")}, **columns})


def test_run_has_the_identity_of_its_settings() -> None:
    """The job key, the owner and the team of a run come from the settings of its application."""
    name, rows = started_runs(live(STARTED, STARTED))

    assert name == "job_runs"
    assert rows.to_pylist() == [
        {"job_key": "nightly", "app_start_ms": 1_000, "app_id": "app-1", "app_attempt": 1, "name": "orders 17",
         "user_name": "etl", "owner": "ada", "team": "growth", "known": OF_START}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("application_name", "incomplete_since_ms", "expected"),
    [(None, None, [("unnamed", OF_ROW)]), ("orders 17", 5_000, [("orders", OF_ROW)]), ("orders 17", None, [])],
    ids=["no name", "state was lost", "start was seen"],
)
def test_application_row_is_a_run_if_its_start_can_be_lost(
    application_name: str | None, incomplete_since_ms: int | None, expected: list
) -> None:
    """A row of an application whose start can be lost is a run; a row of another application is none."""
    row = {
        **KEY,
        "row": "application",
        "application_name": application_name,
        "incomplete_since_ms": incomplete_since_ms,
    }
    _, rows = started_runs(live(row, row))

    assert [(each["job_key"], each["known"]) for each in rows.to_pylist()] == expected


def test_run_of_an_event_log_has_the_job_key_of_its_rows() -> None:
    """A run of an event log has the job key that the sender computed."""
    history = pa.Table.from_pylist(
        [{**KEY, "row": row, "job_key": "nightly", "application_name": "orders 17"} for row in ("application", "stage")]
    )
    _, rows = logged_runs(history)

    assert [(each["job_key"], each["name"], each["known"]) for each in rows.to_pylist()] == [
        ("nightly", "orders 17", OF_LOG)
    ]


@pytest.mark.parametrize(
    ("finding", "hosts"),
    [
        ({"scope": "host:node-7"}, {"node-7"}),
        ({"runs": [{"evidence": [("slowest_task_host", "node-7"), ("hosts", "3")]}]}, {"node-7"}),
        ({"description": "Task 3 waits on node-10 (10.0.0.7). It took 34.3 s."}, {"node-10", "10.0.0.7"}),
        ({"description": "All is well"}, set()),
    ],
    ids=["scope", "evidence", "description", "none"],
)
def test_finding_is_found_by_the_hosts_that_it_names(finding: dict, hosts: set[str]) -> None:
    """A finding has a row for each host of its scope, its evidence and its description."""
    runs = pa.list_(pa.struct({"evidence": PROPERTIES}))
    table = pa.table(
        {
            "finding_id": ["f-1"],
            "updated_ms": [5],
            "scope": pa.array([finding.get("scope")], pa.string()),
            "description": pa.array([finding.get("description")], pa.string()),
            "runs": pa.array([finding.get("runs", [])], runs),
        }
    )
    _, rows = finding_hosts(table)

    assert {each["host"] for each in rows.to_pylist()} == hosts
    assert all((each["finding_id"], each["updated_ms"]) == ("f-1", 5) for each in rows.to_pylist())
